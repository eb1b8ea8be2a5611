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


def mark_deciding(rows: "pd.DataFrame", params: Params) -> "pd.DataFrame":
    """The answered rows of one version, with `labelled`, `decides` and `whole`.

    All rows of a day decide where enough of them are labelled (`whole`), else those that were drawn
    when they were answered: nobody can choose these afterwards. A day of few rows is never whole:
    somebody may have labelled its one error.
    """
    limits = params.outcomes
    rows = rows[rows["answered"]]
    rows["labelled"] = rows["score"].notna() & rows["counts"]
    days = rows.groupby("day")["labelled"]
    rows["whole"] = days.transform("mean") >= limits.min_coverage
    rows["whole"] &= days.transform("size") >= MIN_WHOLE
    rows["decides"] = rows["whole"] | (rows["draw"] < limits.sample / 2)
    return rows


def measure(rows: "pd.DataFrame", params: Params) -> dict[str, Any]:
    """Measure a version on rows of `mark_deciding`; a share that cannot be told is None.

    `bounds`: the score with every deciding row without a label wrong, and right.
    """
    deciding = rows[rows["decides"]]
    labelled = deciding[deciding["labelled"]]
    units = labelled.groupby("id", sort=False)["score"].mean()
    right, num_open = float(labelled["score"].sum()), len(deciding) - len(labelled)
    total = max(1, len(deciding))
    low, high = compute_interval_of(units, 1 - params.evaluation.confidence)
    return {
        "version": str(rows["version"].iloc[-1]),
        "answered": len(rows),
        "deciding": len(deciding),
        "labelled": len(labelled),
        "requests": len(units),
        "whole": bool(len(deciding) and deciding["whole"].all()),
        "coverage": _measure_coverage(rows),
        "mean": compute_mean(units),
        "low": low,
        "high": high,
        "bounds": [right / total, (right + num_open) / total],
    }


def compute_mean(scores: "pd.Series") -> float | None:
    """The mean of scores; None without any."""
    return None if scores.empty else float(scores.mean())


def count_values(values: "pd.Series") -> dict[str, int]:
    """Count how often each value came, for the journal."""
    found: Any = values.round(PLACES).astype(str).value_counts().sort_index().to_dict()
    return dict(found)


def compute_interval_of(units: "pd.Series", level: float) -> tuple[float, float]:
    """The interval of the mean of scores from 0 to 1, valid at every look."""
    return compute_interval(Counter(units.round(PLACES).tolist()), level)


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
            f"{score['labelled']:,} of {score['deciding']:,} drawn rows have a label; "
            f"outcomes.min_coverage asks for {limits.min_coverage:.0%} of them, or of all rows of "
            "a day; `plumbline outcomes draw` lists the drawn rows"
        )
    found = _describe_share(score)
    if claim is None:
        return "cannot tell", f"{found}; its evidence says nothing that compares with it"
    found += f"; its evidence says {claim[0]:.3f}, at least {claim[1]:.3f}"
    if has_alarm(rows, 1 - claim[1] + limits.margin):
        return "worse", found
    if score["labelled"] < params.drift.min_rows:
        return "too few rows", (
            f"{found}; drift.min_rows requires {params.drift.min_rows}; of all {len(rows):,} rows "
            f"{rows['labelled'].sum():,} have a label, and decide on days where "
            f"{limits.min_coverage:.0%} have one"
        )
    return "holds", found


def list_slices(rows: "pd.DataFrame", params: Params) -> list[dict[str, Any]]:
    """List the groups in other columns of outcomes, worst first; their intervals share a level."""
    labelled = rows[rows["decides"] & rows["labelled"]]
    large = group_places(labelled["slices"], params.evaluation.min_slice_rows)
    level = (1 - params.evaluation.confidence) / max(1, len(large))
    slices = []
    for name, places in large.items():
        units = labelled.iloc[places].groupby("id")["score"].mean()
        low, high = compute_interval_of(units, level)
        found = {"name": name, "rows": len(places), "mean": float(units.mean())}
        slices.append(found | {"low": low, "high": high})
    return sorted(slices, key=lambda one: float(str(one["mean"])))


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
    tenths = (rows["confidence"] * 10).clip(0, 9).dropna().astype(int) / 10
    parts = []
    for by, keys in (("day", rows["day"]), ("confidence", tenths), ("answer", rows["answer"])):
        groups: Any = rows.loc[keys.index, ["labelled", "score"]].groupby(keys)
        if by == "answer" and len(groups) > MAX_GROUPS:
            continue
        for name, group in groups:
            scores = group.loc[group["labelled"], "score"]
            found = {"by": by, "name": str(name), "rows": len(group), "labelled": len(scores)}
            parts.append(found | {"score": compute_mean(scores)})
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
    return {
        "median": float(days.median()),
        "most": float(days.quantile(0.9)),
        "before": float((days < 0).mean()),
    }


def describe_volunteered(rows: "pd.DataFrame") -> dict[str, Any] | None:
    """The labels that decide nothing: who was labelled is not who was drawn. None for none."""
    from plumbline.drift.statistical_tests import compare_numbers

    others = rows[rows["score"].notna() & ~(rows["decides"] & rows["counts"])]
    if others.empty:
        return None
    every, own = rows["confidence"].to_numpy(float), others["confidence"].to_numpy(float)
    test = compare_numbers("confidence", "values", every, own)
    return {
        "rows": len(others),
        "score": float(others["score"].mean()),
        "uncounted": int((~others["counts"]).sum()),
        "p_value": test.p_value,
        "told": test.told,
    }


def _measure_coverage(rows: "pd.DataFrame") -> float | None:
    """The labelled share of what decides, each day by the rows that were answered on it.

    So days that were labelled as a whole do not hide those of which the drawn rows were not.
    """
    days = rows.groupby("day")["decides"].agg(["sum", "size"])
    days["labelled"] = (rows["decides"] & rows["labelled"]).groupby(rows["day"]).sum()
    days = days[days["sum"] > 0]
    if days.empty:
        return None
    return float((days["labelled"] / days["sum"] * days["size"]).sum() / days["size"].sum())


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
