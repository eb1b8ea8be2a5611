"""What a rehearsal asks: rows that were answered before, in another order, together and alone."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.answers import SAME_MACHINE, is_same_answer
from plumbline.contract.task import Columns

MAX_BATCH = 32  # rows
NUM_SINGLES = 1000  # rows asked alone; fewer where the clean process runs out of time
NUM_SHOWN = 60  # characters of an input that a message shows

Place = tuple[int, int]  # a call and a row of it


@dataclass(frozen=True)
class Call:
    """One call of a predictor: what was asked, and the answer of each row, as JSON."""

    columns: Columns
    params: Mapping[str, Any]
    rows: Sequence[str]


@dataclass(frozen=True)
class RowAnswer:
    """The answer to a row that was asked again, in a batch or alone."""

    call: int
    row: int
    text: str  # JSON
    alone: bool


@dataclass(frozen=True)
class Plan:
    """The order in which rows are asked again; nobody knows it before."""

    seed: int
    batches: Sequence[Sequence[Place]]  # every row once; those of a batch were asked alike
    singles: Sequence[Place]

    def collect_answers(
        self, batches: Sequence[Sequence[str]], singles: Sequence[str]
    ) -> list[RowAnswer]:
        """Return the answers with their places; `singles` may be fewer than were planned."""
        answers = []
        for places, texts in zip(self.batches, batches, strict=True):
            for (call, row), text in zip(places, texts, strict=True):
                answers.append(RowAnswer(call, row, text, alone=False))
        for (call, row), text in zip(self.singles, singles, strict=False):
            answers.append(RowAnswer(call, row, text, alone=True))
        return answers


def plan_questions(calls: Sequence[Call]) -> Plan:
    """Plan batches of random rows and sizes, and single rows, of everything in `calls`."""
    seed = secrets.randbits(32)
    rng = np.random.default_rng(seed)
    places = [(number, row) for number, call in enumerate(calls) for row in range(len(call.rows))]
    if not places:
        return Plan(seed, [], [])
    order = [places[number] for number in rng.permutation(len(places))]
    singles = [order[number % len(order)] for number in range(NUM_SINGLES)]
    kinds = [_describe_kind(call) for call in calls]
    by_kind: dict[str, list[Place]] = {}
    for place in order:
        by_kind.setdefault(kinds[place[0]], []).append(place)
    batches: list[list[Place]] = []
    for places_of_kind in by_kind.values():
        batches += _cut_batches(places_of_kind, rng)
    rng.shuffle(singles)
    return Plan(seed, batches, singles)


def write_plan(plan: Plan, calls: Sequence[Call], folder: Path) -> dict[str, str]:
    """Write the questions of `plan` as lines of JSON into `folder`; return the files' paths."""
    parts = {"batches": plan.batches, "singles": [[place] for place in plan.singles]}
    paths = {}
    for name, batches in parts.items():
        paths[name] = str(folder / f"{name}.jsonl")
        with Path(paths[name]).open("w", encoding="utf-8") as file:
            for places in batches:
                file.write(json.dumps(_build_question(places, calls)) + "\n")
    return paths


def compare_answers(calls: Sequence[Call], again: Sequence[RowAnswer]) -> list[str]:
    """Say, in at most two problems, which rows have another answer than in `calls`."""
    problems = []
    for alone, way in ((False, "in another order"), (True, "alone")):
        asked = [answer for answer in again if answer.alone is alone]
        wrong = [answer for answer in asked if not _is_repeated(answer, calls)]
        if wrong:
            first = wrong[0]
            columns = calls[first.call].columns
            row = {name: values[first.row] for name, values in columns.items()}
            problems.append(
                f"of {len(asked):,} rows that are asked {way}, the packaged model answers "
                f"{len(wrong):,} differently from what was measured; the first: "
                f"{row!r:.{NUM_SHOWN}}"
            )
    return problems


def _describe_kind(call: Call) -> str:
    """Rows of calls of one kind may be asked together: they have the same columns and params."""
    return json.dumps([sorted(call.columns), sorted(call.params.items())])


def _cut_batches(places: list[Place], rng: np.random.Generator) -> Iterator[list[Place]]:
    start = 0
    while start < len(places):
        size = int(rng.integers(1, MAX_BATCH, endpoint=True))
        yield places[start : start + size]
        start += size


def _build_question(places: Sequence[Place], calls: Sequence[Call]) -> dict[str, Any]:
    first = calls[places[0][0]]
    columns = {}
    for name in first.columns:
        columns[name] = [calls[call].columns[name][row] for call, row in places]
    return {"columns": columns, "params": dict(first.params)}


def _is_repeated(answer: RowAnswer, calls: Sequence[Call]) -> bool:
    before = calls[answer.call].rows[answer.row]
    if answer.text == before:
        return True
    one, other = _sort_lists(json.loads(before)), _sort_lists(json.loads(answer.text))
    return is_same_answer(one, other, tolerance=SAME_MACHINE)


def _sort_lists(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Sort lists of objects by the text in them: of nearly equal scores any may come first."""
    sorted_answer = {}
    for name, value in answer.items():
        if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            value = sorted(value, key=_extract_text)
        sorted_answer[name] = value
    return sorted_answer


def _extract_text(entry: Mapping[str, Any]) -> list[str]:
    return [value for _, value in sorted(entry.items()) if isinstance(value, str)]
