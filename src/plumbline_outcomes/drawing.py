"""Draw rows of the log for people to label.

Chance drew them when they were answered (`draw` in the log): the uniform part decides on the
model, and where the model is in doubt more rows are drawn, which are for training alone.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.answers import is_other_decision
from plumbline.contract.errors import DataError
from plumbline.contract.loading import load_task
from plumbline.contract.params import Params
from plumbline.drift.statistical_tests import LABEL
from plumbline.drift.window import OUTPUT
from plumbline.process.files import write_aside
from plumbline.sources.request_folder import RequestFolder
from plumbline_outcomes.joining import CONFIDENCES, pick_first
from plumbline_outcomes.request_rows import read_outputs, read_requests

if TYPE_CHECKING:
    import pandas as pd

    from plumbline_outcomes.check import Subject

UNIFORM, UNCERTAIN, DIFFERS = "uniform", "uncertain", "differs"
DIGITS = 16
HELD_OUT = ("validation", "test")
SUFFIXES = (".csv", ".parquet")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes a cell that begins so
# The other half of a pair has the same time.
ANSWERED = """
SELECT rows.*, pairs.outputs AS other FROM rows
LEFT JOIN (SELECT request_id, "row", "at", any_value(outputs) AS outputs, count(*) AS size
           FROM rows WHERE side <> 'champion' GROUP BY request_id, "row", "at") AS pairs
  ON rows.request_id = pairs.request_id AND rows."row" = pairs."row" AND rows."at" = pairs."at"
WHERE rows."#row" IN (FROM first) AND rows."at" < ? AND (size > 0 OR NOT ?) AND draw < ?
"""


@dataclass(frozen=True)
class Drawing:
    """From which days rows are drawn, which, and what their sheet shows."""

    days: int  # whole days of UTC before today
    differs: bool = False  # in place of chance: all rows on which the versions of a trial differ
    show_answers: bool = False  # with a mark by which such labels decide nothing


def measure_doubt(reference: "pd.DataFrame") -> float:
    """The mean doubt of answers to the held-out rows; 0 where they say no confidence."""
    for name in CONFIDENCES:
        if OUTPUT + name in reference.columns:
            scores = reference[OUTPUT + name].astype(float).clip(0, 1)
            return float(((scores * (1 - scores)) ** 0.5).mean())
    return 0.0


def find_kind(
    row: Mapping[str, Any], split: str | None, doubt: float, sample: float
) -> tuple[str, float]:
    """Say why chance drew a row of the log, "" where it did not, and how likely that was."""
    chance, outputs = sample / 2, json.loads(row["outputs"] or "{}")
    confidence = float(next((outputs[name] for name in CONFIDENCES if name in outputs), 1.0))
    if split not in HELD_OUT:
        chance = _find_chance(confidence, doubt, sample)
    if row["draw"] >= chance:
        return "", chance
    return (UNIFORM if row["draw"] < sample / 2 else UNCERTAIN), chance


def _find_chance(confidence: float, doubt: float, sample: float) -> float:
    """The chance that a row is drawn: half of `sample`, and more where its answer is in doubt."""
    if not doubt or not 0 <= confidence <= 1:
        return sample / 2
    return min(1.0, sample / 2 * (1 + math.sqrt(confidence * (1 - confidence)) / doubt))


def find_splits(task: str, params: Params, inputs: list[dict[str, Any]]) -> list[str | None]:
    """The split that a row with these inputs will be in, None where that is not known yet."""
    part: Any = load_task(task).data
    if not any(inputs) or not hasattr(part, "find_splits"):
        return [None] * len(inputs)
    names = dict.fromkeys(name for row in inputs for name in row)
    columns = {name: [row.get(name, "") for row in inputs] for name in names}
    splits: list[str | None] = part.find_splits(params, columns)
    return splits


def draw_rows(
    subject: "Subject", log: str, params: Params, now: datetime, drawing: Drawing
) -> tuple["pd.DataFrame", list[str]]:
    """Return the sheet, shuffled and without labels, and lines that describe it."""
    import pandas as pd

    end = datetime.combine(now.astimezone(UTC).date(), datetime.min.time(), UTC)
    start = end - timedelta(days=drawing.days)
    name, folder = subject.champion.name, RequestFolder(log)
    rows, _ = read_requests(folder, name, start, now, with_inputs=True)
    pick_first(rows)
    sample = params.outcomes.sample
    most = 1.0 if drawing.differs else _find_chance(0.5, subject.doubt, sample)
    batches = rows.read(ANSWERED, end, drawing.differs, most)
    found = [row for batch in batches for row in batch.to_pylist()]
    known = [row for row in found if row["inputs"] is not None]
    given = [json.loads(row["inputs"]) for row in known]
    splits = find_splits(subject.champion.task, params, given)
    fields = subject.signature.outputs
    drawn: list[dict[str, Any]] = []
    for row, inputs, split in zip(known, given, splits, strict=True):
        outputs, other = (read_outputs(row[name], fields) for name in ("outputs", "other"))
        kind, chance = find_kind(row, split, subject.doubt, sample)
        if drawing.differs:
            kind, chance = (DIFFERS if is_other_decision(outputs, other) else ""), 1.0
        if kind:
            line = {"request_id": row["request_id"], "row": row["row"]} | inputs
            if drawing.show_answers:
                line |= {"answer": str(outputs.get(fields[0].name, "")), "saw_answer": "true"}
            label = subject.columns.get(LABEL, LABEL)
            drawn.append(line | {label: "", "drawn": kind, "probability": chance})
    digest = _digest(json.dumps(sorted((row["request_id"], row["row"]) for row in drawn)))
    drawn.sort(key=lambda row: _digest(f"{digest} {row['request_id']} {row['row']}"))
    sheet = pd.DataFrame([row | {"sheet": digest} for row in drawn])
    days = f"{start:%Y-%m-%d} to {end - timedelta(days=1):%Y-%m-%d}"
    lines = [_describe_kinds(drawn), f"answered from {days} (UTC)"]
    if not drawn:
        lines.append("what is answered today can be drawn tomorrow")
    if len(found) > len(known):
        lines.append(f"{len(found) - len(known):,} are left out: the log lacks their inputs")
    return sheet, lines


def _describe_kinds(drawn: list[dict[str, Any]]) -> str:
    kinds = Counter(row["drawn"] for row in drawn)
    told = ", ".join(f"{size:,} {kind}" for kind, size in sorted(kinds.items()))
    return f"{len(drawn):,} rows to label" + (f": {told}" if told else "")


def refuse_sheet(path: Path) -> None:
    """DataError for a file that exists, or of no format for sheets."""
    if path.suffix not in SUFFIXES:
        raise DataError(f"{path}: name a file that ends in .csv or .parquet")
    if path.exists():
        raise DataError(f"{path} exists, and may have labels in it; name another file")


def write_sheet(table: "pd.DataFrame", path: Path) -> None:
    """Write a sheet as Parquet, or as CSV for spreadsheets, which compute no cell of it."""
    with write_aside(path) as aside:
        if path.suffix == ".parquet":
            table.to_parquet(aside, index=False)
            return
        safe = table.copy()
        for name in table.columns.drop(["request_id", "row", "probability"]):
            is_formula = table[name].astype(str).str.startswith(FORMULA)
            safe[name] = table[name].mask(is_formula, "'" + table[name].astype(str))
        # With these ends of lines a text with a bare carriage return is quoted.
        safe.to_csv(aside, index=False, encoding="utf-8-sig", lineterminator="\r\n")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
