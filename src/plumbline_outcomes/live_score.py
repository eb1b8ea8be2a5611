"""The live score of each version: which rows decide, what they say, and what nobody labelled.

The interval and the alarm hold at every look (plumbline/statistics/betting.py); the unit is a
request, since the rows of one may be alike.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal

from plumbline.contract.params import Params
from plumbline.statistics.betting import ShareTest, compute_interval
from plumbline.statistics.intervals import compute_proportion_interval

if TYPE_CHECKING:
    import pandas as pd

LiveVerdict = Literal["holds", "worse", "watch", "too few rows", "cannot tell"]
EXIT_CODES: dict[LiveVerdict, int] = {
    "holds": 0, "worse": 30, "watch": 31, "too few rows": 32, "cannot tell": 33,
}  # fmt: skip
EXCESS = 0.05  # above the limit: an error of this size is noticed soonest
MAX_GROUPS = 50  # of answers, to be listed
LEAST_REPEATED = 5  # rows of a group in the mean: answers of a search hardly repeat
MIN_WHOLE = 10  # rows of a day that may be labelled as a whole
PLACES = 9  # of a score that is counted


def read_claim(
    evidence: Mapping[str, Any], num_rows: int, confidence: float
) -> tuple[float, float] | None:
    """Read the share of right answers in evidence.json, and its lower end; None for none.

    Where another metric decides, the end is that of `accuracy` on `num_rows`.
    """
    winner, metric = evidence["candidates"][evidence["winner"]], evidence["metric"]
    if metric["kind"] == "binary":
        return winner["test"][metric["name"]], winner["test_interval"]["low"]
    share = winner["test"].get("accuracy")
    if share is None:
        return None
    return share, compute_proportion_interval(round(share * num_rows), num_rows, confidence).low


def mark_deciding(rows: "pd.DataFrame", sample: float, min_coverage: float) -> "pd.DataFrame":
    """The answered rows of one version, with `labelled`, `decides` and `whole`.

    All rows of a day decide where enough of them are labelled (`whole`), else those that were drawn
    when they were answered: nobody can choose these afterwards. A day of few rows is never whole:
    somebody may have labelled its one error.
    """
    rows = rows[rows["answered"]]
    rows["labelled"] = rows["score"].notna() & rows["counts"]
    days = rows.groupby("day")["labelled"]
    rows["whole"] = days.transform("mean") >= min_coverage
    rows["whole"] &= days.transform("size") >= MIN_WHOLE
    rows["decides"] = rows["whole"] | (rows["draw"] < sample / 2)
    return rows


def measure(rows: "pd.DataFrame", params: Params) -> dict[str, Any]:
    """Measure a version on rows of `mark_deciding`; a share that cannot be told is None.

    `bounds`: the score with every deciding row without a label wrong, and right.
    """
    deciding = rows[rows["decides"]]
    labelled = deciding[deciding["labelled"]]
    right, num_open = float(labelled["score"].sum()), len(deciding) - len(labelled)
    total = max(1, len(deciding))
    return {
        "version": str(rows["version"].iloc[-1]),
        "answered": len(rows),
        "deciding": len(deciding),
        "labelled": len(labelled),
        "whole": bool(len(deciding) and deciding["whole"].all()),
        "coverage": _measure_coverage(rows),
        "bounds": [right / total, (right + num_open) / total],
    } | measure_right(labelled, 1 - params.evaluation.confidence)


def measure_right(labelled: "pd.DataFrame", level: float) -> dict[str, Any]:
    """How right labelled rows are: each request weighs the same; the interval holds at every look.

    The mean is None without rows.
    """
    units = labelled.groupby("id", sort=False)["score"].mean()
    low, high = compute_interval(count_values(units), level)
    mean = None if units.empty else float(units.mean())
    return {"requests": len(units), "mean": mean, "low": low, "high": high}


def count_values(values: "pd.Series") -> dict[float, int]:
    """Count how often each value came, for journal and tests."""
    counts = Counter(values.dropna().astype(float).round(PLACES).tolist())
    return dict(sorted(counts.items()))


def has_alarm(rows: "pd.DataFrame", limit: float) -> bool:
    """Whether errors of rows of `mark_deciding` were, at any time, significantly above `limit`.

    `rows` are in the order of time; a row that decides and has no label counts as right.
    """
    test = ShareTest(limit, EXCESS)
    deciding = rows[rows["decides"]]
    errors = (1 - deciding["score"]).where(deciding["labelled"], 0.0)
    requests = errors.groupby(deciding["id"], sort=False)
    for size, bad in zip(requests.size(), requests.sum(), strict=True):
        test.add(int(size), float(bad))
        if test.failed:
            return True
    return False


def judge(
    score: Mapping[str, Any],
    rows: "pd.DataFrame",
    claim: tuple[float, float] | None,
    params: Params,
) -> tuple[LiveVerdict, str]:
    """The verdict on the champion, and why."""
    limits, coverage = params.outcomes, score["coverage"]
    if coverage is None or coverage < limits.min_coverage:
        return "cannot tell", (
            f"{score['labelled']:,} of {score['deciding']:,} rows drawn by chance have a label; "
            f"outcomes.min_coverage asks for {limits.min_coverage:.0%} of them, or of all rows of "
            "a day; `plumbline outcomes draw` lists them (uniform)"
        )
    found = _describe_share(score)
    if claim is None:
        return "cannot tell", f"{found}; its evidence says nothing that compares with it"
    found += f"; its evidence says {claim[0]:.3f}, at least {claim[1]:.3f}"
    if has_alarm(rows, 1 - claim[1] + limits.margin):
        return "worse", found
    if score["labelled"] < params.drift.min_rows:
        return "too few rows", (
            f"{found}; drift.min_rows requires {params.drift.min_rows}; "
            f"{rows['labelled'].sum():,} of all {len(rows):,} rows have a label; those of a day "
            f"decide where {limits.min_coverage:.0%} of its rows have one"
        )
    return "holds", found


def list_slices(rows: "pd.DataFrame", params: Params) -> list[dict[str, Any]]:
    """List the groups in other columns of outcomes, worst first; their intervals share a level."""
    labelled = rows[rows["decides"] & rows["labelled"]]
    large = group_places(labelled["slices"], params.evaluation.min_slice_rows)
    level = (1 - params.evaluation.confidence) / max(1, len(large))
    slices = []
    for name, places in large.items():
        found = measure_right(labelled.iloc[places], level)
        slices.append({"name": name, "rows": len(places)} | found)
    return sorted(slices, key=lambda one: float(one["mean"]))


def describe_gap(slices: Sequence[Mapping[str, Any]], params: Params) -> str:
    """Describe the two groups of `evaluation.groups` with the largest proven gap; "" for none.

    The intervals of all `slices` hold at once, so those of differences do. Of errors alone.
    """
    asked, gaps = params.evaluation.groups, []
    for best, worst in permutations(slices, 2):
        column, other = (each["name"].partition("=")[0] for each in (best, worst))
        if asked and asked.rate == "error" and column == other and column in asked.columns:
            low, high = best["low"] - worst["high"], best["high"] - worst["low"]
            gap = f"{best['mean'] - worst['mean']:.3f} more often than {worst['name']}"
            told = f"{best['name']} is right {gap} ({low:.3f} to {high:.3f}, valid at every look)"
            gaps.append((low, f"{told}; evaluation.groups.max_gap is {asked.max_gap:g}"))
    return max([(0.0, ""), *gaps])[1]


def group_places(slices: "pd.Series", min_rows: int) -> dict[str, list[int]]:
    """Map each group in a column of JSON that has enough rows to the places of these."""
    groups: dict[str, list[int]] = {}
    for place, text in enumerate(slices):
        for name, value in json.loads(text or "{}").items():
            groups.setdefault(f"{name}={value}", []).append(place)
    return {key: places for key, places in groups.items() if len(places) >= min_rows}


def list_coverage(rows: "pd.DataFrame") -> list[dict[str, Any]]:
    """List the labelled share of rows, and their score, by day, tenth of confidence and answer."""
    scored = rows.assign(score=rows["score"].where(rows["labelled"]))
    tenths = (rows["confidence"] * 10).clip(0, 9).dropna().astype(int) / 10
    parts: list[Any] = []
    for by, keys in (("day", rows["day"]), ("confidence", tenths), ("answer", rows["answer"])):
        groups = scored.groupby(keys.rename("name"))["score"]
        found = groups.agg(rows="size", labelled="count", score="mean").reset_index()
        if by == "day" or len(found) <= min(MAX_GROUPS, len(rows) / LEAST_REPEATED):
            shown = found.assign(by=by, name=found["name"].astype(str)).astype(object)
            parts += shown.where(shown.notna(), None).to_dict("records")
    return parts


def measure_delay(rows: "pd.DataFrame") -> dict[str, float] | None:
    """Days from answers to labels: their median, what 90 % are below, the share before the answer.

    None where the outcomes have no times.
    """
    import pandas as pd

    waits = pd.to_datetime(rows["labelled_at"], utc=True) - rows["at"]
    days = waits.dropna().dt.total_seconds() / 86_400
    if days.empty:
        return None
    median, most = days.quantile([0.5, 0.9])
    return {"median": float(median), "most": float(most), "before": float((days < 0).mean())}


def measure_volunteered(rows: "pd.DataFrame") -> dict[str, Any] | None:
    """Measure the labels that decide nothing, of rows that chance did not draw; or None."""
    others = rows[rows["score"].notna() & ~(rows["decides"] & rows["counts"])]
    if others.empty:
        return None
    return {"rows": len(others), "score": float(others["score"].mean())}


def _measure_coverage(rows: "pd.DataFrame") -> float | None:
    """The labelled share of what decides, each day by the rows that were answered on it.

    So days that were labelled as a whole do not hide those of which the drawn rows were not.
    """
    labelled = rows[rows["decides"]].groupby("day")["labelled"].mean()
    if labelled.empty:
        return None
    sizes = rows["day"].value_counts()[labelled.index]
    return float((labelled * sizes).sum() / sizes.sum())


def _describe_share(score: Mapping[str, Any]) -> str:
    requests, by_rows = "", ""
    if score["requests"] < score["labelled"]:
        requests = f" in {score['requests']:,} requests"
        share = score["bounds"][0] * score["deciding"] / score["labelled"]
        by_rows = f"; each request weighs the same, by rows {share:.3f}"
    kind = ("drawn rows", "rows")[score["whole"]]
    return (
        f"{score['mean']:.3f} right of {score['labelled']:,} {kind}{requests} "
        f"({score['low']:.3f} to {score['high']:.3f}, valid at every look{by_rows})"
    )
