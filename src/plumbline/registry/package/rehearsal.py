"""A package answers in a clean process, with nothing of the checkout near it, as it was measured.

The rows that evaluate scored are asked again in another order, in batches of other sizes, and
alone. An answer that depends on the order, on its neighbours, on chance or on what lies around
differs in some of these calls.
"""

import itertools
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.answers import SAME_MACHINE, is_same_answer
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Columns, Task
from plumbline.process.files import read_json, write_json
from plumbline.registry.package import packaging

MAX_BATCH = 32  # rows
NUM_SINGLES = 1000  # rows asked alone; fewer where the clean process runs out of time
NUM_SHOWN = 60  # characters of an input that a message shows
PYTHON = sys.executable  # which runs the clean process
SCRIPT = Path(__file__).with_name("clean_process.py")
FLOOR_S = 300  # to start, to answer golden rows and single ones, to write the answers down
SLOWNESS = 5  # times as long as measured: another process, perhaps beside other work
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "GOMP_SPINCOUNT", "OMP_NUM_THREADS")

Place = tuple[int, int]  # a call and a row of it


@dataclass(frozen=True)
class Call:
    """One call of a predictor: what was asked, and the answer of each row, as JSON."""

    columns: Columns
    params: Mapping[str, Any]
    rows: Sequence[str]


@dataclass(frozen=True)
class Rehearsal:
    """What a package did in a clean process: what was wrong with it, and what it took."""

    num_rows: int  # asked again in another order
    num_singles: int  # asked alone
    seed: int  # of the order
    longest_ms: float | None  # one call with the longest input; None where none was asked
    rss_mb: float  # with golden rows and the longest input
    problems: Sequence[str]


def ask_package(
    described: Mapping[str, Any],
    golden: Path,
    task: Task[Any],
    calls: Sequence[Call] = (),
    longest: Columns | None = None,
    row_ms: float = 0.0,
) -> Rehearsal:
    """Write the package that is `described`, of a bundle that was verified, and ask it.

    That is done by a clean process that has only what the package requires. Golden rows must be
    answered as in `golden`, faulty ones with an error, those of `calls` as before; `longest` is an
    input of one row. `row_ms` is the measured time of one row: the clean process may take several
    times as long. BundleError where the package cannot answer.
    """
    expected = read_json(golden)
    seed = secrets.randbits(32)  # nobody knows the order before
    batches = plan_batches(calls, seed)
    each = itertools.cycle([place] for batch in batches for place in batch)
    singles = list(itertools.islice(each, NUM_SINGLES))
    asked = {
        "described": dict(described),
        "blocked": packaging.list_other_modules(task.requirements),
        "golden": {"inputs": expected["inputs"], "params": expected["params"]},
        "faulty": {name: dict(columns) for name, columns in task.faulty.items()},
        "longest": longest and dict(longest),
    }
    rows = {
        "batches": [_build_question(places, calls) for places in batches],
        "singles": [_build_question(places, calls) for places in singles],
    }
    num_rows = sum(map(len, batches))
    result = _ask_in_clean_process(asked, rows, num_rows, row_ms)
    problems = _find_wrong_answers(expected["outputs"], result["answers"])[:1]
    for name, message in result["errors"].items():
        if not message:
            problems.append(f"the packaged model answers {name} instead of refusing it")
    if result["longest_error"] is not None:
        reason = f"{result['longest_error']:.200}"
        problems.append(f"the packaged model does not answer the longest valid input ({reason})")
    problems += compare_answers(calls, batches, result["batches"], "in another order")
    asked_alone = singles[: len(result["singles"])]
    problems += compare_answers(calls, asked_alone, result["singles"], "alone")
    return Rehearsal(
        num_rows=num_rows,
        num_singles=len(asked_alone),
        seed=seed,
        longest_ms=result["longest_ms"],
        rss_mb=float(result["rss_mb"]),
        problems=problems,
    )


def _ask_in_clean_process(
    asked: Mapping[str, Any], rows: Mapping[str, Any], num_rows: int, row_ms: float
) -> Any:
    """Run clean_process.py in an empty folder, with next to no environment.

    Returns what it wrote. It may take FLOOR_S, and SLOWNESS times `row_ms` for each of `num_rows`.
    BundleError where it fails, or does not end within this time.
    """
    limit = FLOOR_S + SLOWNESS * num_rows * row_ms / 1000
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        folder = Path(private)
        for name in ("work", "home", "tmp"):
            (folder / name).mkdir()
        write_json(folder / "asked.json", asked)
        write_json(folder / "rows.json", rows)
        program = SCRIPT.read_text(encoding="utf-8")
        try:
            ended = subprocess.run(  # in a new Python, without what the user's site adds to it
                [PYTHON, "-I", "-B", "-c", program, str(folder)],
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
                cwd=folder / "work",
                env=_build_environment(folder),
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            raise BundleError(
                f"the packaged model did not answer {num_rows:,} rows within {limit:,.0f} s"
            ) from None
        if ended.returncode != 0:
            why = (ended.stderr.strip().splitlines() or ["no message"])[-1]
            if "Can not safely convert" in why:
                why += " `read_inputs` of the task has to give the types of its signature."
            raise BundleError(f"the packaged model does not answer in a clean process: {why}")
        return read_json(folder / "answered.json")


def _build_environment(folder: Path) -> dict[str, str]:
    """Build the environment of a clean process whose home and temporary files are in `folder`."""
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return environment | {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }


def plan_batches(calls: Sequence[Call], seed: int) -> list[list[Place]]:
    """Plan to ask every row of `calls` once, in batches of random rows and sizes.

    Rows of a batch were asked alike: they have the same columns and params.
    """
    rng = np.random.default_rng(seed)
    places = [(number, row) for number, call in enumerate(calls) for row in range(len(call.rows))]
    by_kind: dict[str, list[Place]] = {}
    for number in rng.permutation(len(places)):
        call = calls[places[number][0]]
        kind = json.dumps([sorted(call.columns), sorted(call.params.items())])
        by_kind.setdefault(kind, []).append(places[number])
    batches = []
    for own in by_kind.values():
        end = 0
        while end < len(own):
            start, end = end, end + int(rng.integers(1, MAX_BATCH, endpoint=True))
            batches.append(own[start:end])
    rng.shuffle(batches)
    return batches


def compare_answers(
    calls: Sequence[Call], batches: Sequence[Sequence[Place]], again: Sequence[Any], way: str
) -> list[str]:
    """Say in one problem which rows of `batches` have another answer than in `calls`; else in none.

    `again` has the answers of each batch, row by row, as JSON.
    """
    wrong = []
    for places, answers in zip(batches, again, strict=True):
        for (call, row), answer in zip(places, answers, strict=True):
            if not _is_repeated(calls[call].rows[row], answer):
                wrong.append((call, row))
    if not wrong:
        return []
    call, row = wrong[0]
    first = {name: values[row] for name, values in calls[call].columns.items()}
    return [
        f"of {sum(map(len, batches)):,} rows that are asked {way}, the packaged model answers "
        f"{len(wrong):,} differently from what was measured; the first: {first!r:.{NUM_SHOWN}}"
    ]


def _build_question(places: Sequence[Place], calls: Sequence[Call]) -> dict[str, Any]:
    first = calls[places[0][0]]
    columns = {name: [calls[at].columns[name][row] for at, row in places] for name in first.columns}
    return {"columns": columns, "params": dict(first.params)}


def _find_wrong_answers(expected: Mapping[str, Any], answers: Mapping[str, Any]) -> list[str]:
    problems = []
    for column, values in expected.items():
        for row, value in enumerate(values):
            answer = answers.get(column, [])[row : row + 1]
            if not is_same_answer([value], answer, tolerance=SAME_MACHINE):
                problems.append(
                    f"the packaged model's answer to golden row {row} ({column}) is different from "
                    "the one that evaluate wrote"
                )
    return problems


def _is_repeated(before: str, answer: str) -> bool:
    if answer == before:
        return True
    one, other = _sort_lists(json.loads(before)), _sort_lists(json.loads(answer))
    return is_same_answer(one, other, tolerance=SAME_MACHINE)


def _sort_lists(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Sort lists of objects by the text in them: of nearly equal scores any may come first."""

    def extract_text(entry: Mapping[str, Any]) -> list[str]:
        return [text for _, text in sorted(entry.items()) if isinstance(text, str)]

    sorted_answer = {}
    for name, value in answer.items():
        if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            value = sorted(value, key=extract_text)
        sorted_answer[name] = value
    return sorted_answer
