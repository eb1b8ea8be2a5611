"""Write labelled requests as training rows, with where they come from.

What chance drew goes into outcomes-uniform-DAY.parquet and is divided as any row is; what somebody
chose into outcomes-chosen-DAY.parquet, of which ingest takes rows for train alone.
"""

import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.params import Params
from plumbline.drift.statistical_tests import LABEL
from plumbline.sources.labelled_requests import CHOSEN, UNIFORM
from plumbline.sources.request_folder import SUFFIX, RequestFolder
from plumbline_outcomes import check, closing, drawing
from plumbline_outcomes.joining import JoinedRows
from plumbline_outcomes.live_score import MIN_WHOLE

MAX_EARLY = 0.01  # of the labels may be older than their answers
FILES = "outcomes-"
NEW = "have a label that the model never answers"
KEYS = ["request_id", "row"]
CHANCE = ["drawn", "probability"]
# How much of its day has a label decides whether somebody chose which rows have one.
LABELLED = """
WITH answered AS (SELECT *, truth IS NOT NULL AND counts AS is_told FROM labelled), days AS (
  SELECT day, CASE WHEN count(*) >= ? THEN avg(is_told::INTEGER) END AS told,
    avg(is_told::INTEGER) FILTER (draw < ?) AS drawn_told
  FROM answered GROUP BY day
)
SELECT answered.*, coalesce(is_told AND told >= ?, false) AS is_whole,
  coalesce(is_told AND draw < ? AND drawn_told >= ?, false) AS is_drawn
FROM answered JOIN days USING (day) WHERE truth IS NOT NULL
ORDER BY "at", request_id, "row"
"""
TOLD = "SELECT request_id, number FROM found WHERE status NOT IN ('older', 'unknown')"


def export_rows(
    subject: check.Subject,
    log: str,
    outcomes: str,
    target: str,
    params: Params,
    now: datetime,
    *,
    label: str = "",
    trust: bool = False,
) -> dict[str, int]:
    """Write the labelled rows into the folder `target`, and count them by what became of them.

    A row that is there already is replaced, and goes where its label was withdrawn. `trust`: labels
    by a model, and of people who saw its answers, count too. Rows of an open trial wait. DataError
    for labels that cannot be right: reactions, or labels from before the answers.
    """
    data = params.model_dump(mode="json").get("data", {})
    _refuse_leaks(data)
    folder = RequestFolder(log)
    closed = closing.list_closed(subject.history, folder.digest)
    entries = {day: entry.number for day, entry in closed.items()}
    opened = check.open_given(subject, folder, outcomes, label)
    joined = JoinedRows(subject, folder, opened, now, by_version=False)
    if joined.kind == "value":
        raise DataError(f"{outcomes}: reactions (value) say whether an answer was liked, not what "
                        "was right; training needs a column of labels")  # fmt: skip
    joined.refuse_strangers()
    new_classes = check.find_new_classes(joined.list_truths(), subject.classes)
    half, least = params.outcomes.sample / 2, params.outcomes.min_coverage
    batches = joined.rows.read(LABELLED, MIN_WHOLE, half, least, half, least)
    found = [row for batch in batches for row in batch.to_pylist()]
    _refuse_early(found)
    inputs = [json.loads(row["inputs"] or "{}") for row in found]
    split, names = data.get("split", {}), subject.columns  # what files call inputs and labels
    others = dict.fromkeys(data.get("columns", {}).get("metadata", []), "")
    counts: Counter[str] = Counter()
    files: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    splits = drawing.find_splits(subject.champion.task, params, inputs)
    samples = _read_samples(RequestFolder(target))
    for row, given, place in zip(found, inputs, splits, strict=True):
        known = samples.get((row["request_id"], row["row"])) if row["counts"] else None
        is_uniform = row["is_whole"] or row["is_drawn"] or known is not None
        if not (row["counts"] or trust):
            counts["by a model, or by people who saw its answer (--trust takes them)"] += 1
        elif subject.plan and not subject.end and row["at"] >= subject.plan.begin:
            counts["of an open trial: they wait for its end"] += 1
        elif not given:
            counts["without inputs in the log (--redact)"] += 1
        elif not is_uniform and place in drawing.HELD_OUT:
            counts["chosen, of a text that belongs to validation or test"] += 1
        else:
            start = UNIFORM if is_uniform else CHOSEN
            counts[start] += 1
            counts[NEW] += row["truth"] in new_classes
            if split.get("column"):
                others[split["column"]] = row["at"].isoformat() if split["by"] == "time" else ""
            own = {names.get(name, name): value for name, value in given.items()}
            own[names.get(LABEL, LABEL)] = row["truth"]
            origin = _describe_origin(row, subject, params, place)
            origin["entry"] = entries.get(row["day"])
            groups: dict[str, Any] = json.loads(row["slices"] or "{}")
            written = others | groups | origin | (known or {}) | own
            files[f"{start}{row['day']}{SUFFIX}"].append(written)
    told = set(joined.rows.query(TOLD).itertuples(index=False, name=None))
    _merge(RequestFolder(target), files, told)
    return dict(counts)


def describe_counts(counts: Mapping[str, int], target: str) -> Iterator[str]:
    """Say what was written, and why other labels were not."""
    uniform, chosen = counts.get(UNIFORM, 0), counts.get(CHOSEN, 0)
    yield (
        f"{uniform + chosen:,} training rows in {target}: {uniform:,} by chance for any split, "
        f"{chosen:,} chosen for train"
    )
    if counts.get(NEW):
        yield f"  {counts[NEW]:,} of them {NEW}"
    for reason, size in counts.items():
        if reason not in (UNIFORM, CHOSEN, NEW):
            yield f"  {size:,} labels left out: {reason}"


def _refuse_leaks(data: Mapping[str, Any]) -> None:
    """ParamsError where files are given for splits, and train rows may have their texts."""
    policy = data.get("policies", {}).get("leakage", "drop")
    if isinstance(data.get("source"), dict) and policy != "drop":
        raise ParamsError(
            "data.source names a file for each split: set data.policies.leakage: drop, so that no "
            "labelled request is in train whose text is in validation or test"
        )


def _refuse_early(found: list[dict[str, Any]]) -> None:
    timed = [row for row in found if row["labelled_at"] is not None]
    early = [row for row in timed if row["labelled_at"] < row["at"]]
    if len(early) > MAX_EARLY * len(timed):
        raise DataError(
            f"{len(early):,} of {len(timed):,} labels are older than their answers, such as that "
            f"of {early[0]['request_id']!r:.60}: a clock is wrong, or the label was known before "
            "and the text may hold it; correct the column `at`"
        )


def _describe_origin(
    row: Mapping[str, Any], subject: check.Subject, params: Params, place: str | None
) -> dict[str, Any]:
    """Where a training row is from; `place` is the split of its text."""
    kind, chance = drawing.find_kind(row, place, subject.doubt, params.outcomes.sample)
    if row["is_whole"]:
        kind, chance = "all", 1.0
    return {
        "request_id": row["request_id"],
        "row": row["row"],
        "bundle": row["bundle"],
        "answered_at": row["at"].isoformat(),
        "labelled_at": row["labelled_at"] and row["labelled_at"].isoformat(),
        "source": row["source"],
        "drawn": kind or "volunteered",
        "probability": chance if kind else None,
    }


def _list_files(folder: RequestFolder) -> list[str]:
    try:
        return folder.list_names(FILES)
    except OSError as error:
        if not isinstance(error.__context__, FileNotFoundError):
            raise
        return []  # nobody wrote there yet


def _read_samples(folder: RequestFolder) -> dict[tuple[str, int], dict[str, Any]]:
    """Read which rows are there by chance, and how: a later sheet of a few takes none out."""
    import pandas as pd

    samples = {}
    for name in _list_files(folder):
        if name.startswith(UNIFORM):
            with folder.open(name) as file:
                rows = pd.read_parquet(file, columns=[*KEYS, *CHANCE])
            for row in rows.to_dict("records"):
                samples[row["request_id"], row["row"]] = {key: row[key] for key in CHANCE}
    return samples


def _merge(
    folder: RequestFolder,
    files: Mapping[str, list[dict[str, Any]]],
    told: set[tuple[str, int]],
) -> None:
    """Write the rows of each file in place of those that `told` names; what is empty is deleted."""
    import pandas as pd

    present = _list_files(folder)
    for name in sorted({*present, *files}):
        parts = [pd.DataFrame(files.get(name, []))]
        if name in present:
            with folder.open(name) as file:
                old = pd.read_parquet(file)
            keys = old[KEYS].itertuples(index=False, name=None)
            kept = old[[key not in told for key in keys]]
            if len(kept) == len(old) and name not in files:
                continue
            parts.insert(0, kept)
        rows = pd.concat(parts, ignore_index=True)
        if rows.empty:
            folder.delete(name)
            continue
        content = io.BytesIO()
        rows.sort_values(["answered_at", *KEYS]).to_parquet(content, index=False)
        folder.write(partial(str, name), content.getvalue())
