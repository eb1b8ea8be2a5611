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
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.params import Params
from plumbline.drift.statistical_tests import LABEL
from plumbline.sources.labelled_requests import CHOSEN, UNIFORM
from plumbline.sources.request_folder import SUFFIX, RequestFolder
from plumbline_outcomes import check, closing, drawing
from plumbline_outcomes.joining import JoinedRows
from plumbline_outcomes.live_score import MIN_WHOLE

if TYPE_CHECKING:
    import pandas as pd

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
    folder, goal = RequestFolder(log), RequestFolder(target)
    opened = check.open_given(subject, folder, outcomes, label)
    joined = JoinedRows(subject, folder, opened, now, by_version=False)
    if joined.kind != closing.LABEL:
        raise DataError(f"{outcomes}: reactions (value) say whether an answer was liked, not what "
                        "was right; training needs a column of labels")  # fmt: skip
    joined.refuse_strangers()
    new_classes = check.find_new_classes(joined.list_truths(), subject)
    found = _read_labels(joined, params)
    present = _read_files(goal)
    samples = _list_samples(present)
    entries = closing.list_closed(subject.history, folder.digest)
    numbers = {day: entry.number for day, entry in entries.items()}
    inputs = [json.loads(row["inputs"] or "{}") for row in found]
    splits = drawing.find_splits(subject.champion.task, params, inputs)
    counts: Counter[str] = Counter()
    files: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row, given, split in zip(found, inputs, splits, strict=True):
        known = samples.get((row["request_id"], row["row"]), {}) if row["counts"] else {}
        row |= {"inputs": given, "split": split, "known": known, "entry": numbers.get(row["day"])}
        place = _find_place(row, subject, trust)
        counts[place] += 1
        if place in (UNIFORM, CHOSEN):
            counts[NEW] += row["truth"] in new_classes
            files[f"{place}{row['day']}{SUFFIX}"].append(_build_row(row, subject, params, data))
    told = set(joined.rows.query(TOLD).itertuples(index=False, name=None))
    _write_files(goal, present, files, told)
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


def _read_labels(joined: JoinedRows, params: Params) -> list[dict[str, Any]]:
    """Read the labelled rows; DataError where labels are older than their answers."""
    half, least = params.outcomes.sample / 2, params.outcomes.min_coverage
    batches = joined.rows.read(LABELLED, MIN_WHOLE, half, least, half, least)
    found = [row for batch in batches for row in batch.to_pylist()]
    timed = [row for row in found if row["labelled_at"] is not None]
    early = [row for row in timed if row["labelled_at"] < row["at"]]
    if len(early) > MAX_EARLY * len(timed):
        raise DataError(
            f"{len(early):,} of {len(timed):,} labels are older than their answers, such as that "
            f"of {early[0]['request_id']!r:.60}: correct the column `at` if a clock was "
            "wrong; leave these labels out if they were known before, as the text may hold them"
        )
    return found


def _find_place(row: Mapping[str, Any], subject: check.Subject, trust: bool) -> str:
    """Find how the name of a row's file begins, or why its label is left out."""
    plan = subject.plan
    if not (row["counts"] or trust):
        return "by a model, or by people who saw its answer (--trust takes them)"
    if plan and not plan.ended and row["at"] >= plan.begin:
        return "of an open trial: they wait for its end"
    if not row["inputs"]:
        return "without inputs in the log (--redact)"
    if row["is_whole"] or row["is_drawn"] or row["known"]:
        return UNIFORM
    if row["split"] in drawing.HELD_OUT:
        return "chosen, of a text that belongs to validation or test"
    return CHOSEN


def _build_row(
    row: Mapping[str, Any], subject: check.Subject, params: Params, data: Mapping[str, Any]
) -> dict[str, Any]:
    """Build a training row, with where it is from; `data` are the params of that name."""
    split, names = data.get("split", {}), subject.columns  # what files call inputs and labels
    others = dict.fromkeys(data.get("columns", {}).get("metadata", []), "")
    if split.get("column"):
        others[split["column"]] = row["at"].isoformat() if split["by"] == "time" else ""
    kind, chance = drawing.find_kind(row, row["split"], subject.doubt, params.outcomes.sample)
    if row["is_whole"]:
        kind, chance = "all", 1.0
    origin = {name: row[name] for name in ("request_id", "row", "bundle", "source", "entry")}
    origin |= {
        "answered_at": row["at"].isoformat(),
        "labelled_at": row["labelled_at"] and row["labelled_at"].isoformat(),
        "drawn": kind or "volunteered",
        "probability": chance if kind else None,
    }
    own = {names.get(name, name): value for name, value in row["inputs"].items()}
    own[names.get(LABEL, LABEL)] = row["truth"]
    groups: dict[str, Any] = json.loads(row["slices"] or "{}")
    known: dict[str, Any] = row["known"]
    return others | groups | origin | known | own


def _read_files(folder: RequestFolder) -> "dict[str, pd.DataFrame]":
    """Read the files of training rows that are there, by name."""
    import pandas as pd

    files = {}
    try:
        for name in folder.list_names(FILES):
            with folder.open(name) as file:
                files[name] = pd.read_parquet(file)
    except OSError as error:
        if not isinstance(error.__context__, FileNotFoundError):
            raise  # else nobody wrote there yet
    return files


def _list_samples(files: "Mapping[str, pd.DataFrame]") -> dict[tuple[str, int], dict[str, Any]]:
    """List which rows are there by chance, and how: a later sheet of a few takes none out."""
    samples = {}
    for name, rows in files.items():
        if name.startswith(UNIFORM):
            for row in rows[[*KEYS, *CHANCE]].to_dict("records"):
                if row["drawn"] not in (drawing.UNIFORM, "all"):
                    raise DataError(
                        f"{name}: the row of request {row['request_id']!r} was chosen "
                        f"({row['drawn']}), not drawn by chance: move it to a file {CHOSEN}..."
                    )
                samples[row["request_id"], row["row"]] = {key: row[key] for key in CHANCE}
    return samples


def _write_files(
    folder: RequestFolder,
    present: "Mapping[str, pd.DataFrame]",
    files: Mapping[str, list[dict[str, Any]]],
    told: set[tuple[str, int]],
) -> None:
    """Write the rows of each file in place of those that `told` names; what is empty is deleted."""
    import pandas as pd

    for name in sorted({*present, *files}):
        old = present.get(name, pd.DataFrame(columns=KEYS))
        kept = old[[key not in told for key in old[KEYS].itertuples(index=False, name=None)]]
        if len(kept) == len(old) and name not in files:
            continue
        parts = [part for part in (kept, pd.DataFrame(files.get(name, []))) if len(part)]
        if not parts:
            folder.delete(name)
            continue
        rows = pd.concat(parts, ignore_index=True).sort_values(["answered_at", *KEYS])
        content = io.BytesIO()
        rows.to_parquet(content, index=False)
        folder.write(partial(str, name), content.getvalue())
