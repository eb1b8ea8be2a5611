"""A package answers in a clean process, with nothing of the checkout near it, as it was measured.

The rows that evaluate scored are asked again in another order, in batches of other sizes, and
alone. An answer that depends on the order, on its neighbours, on chance or on what lies around
differs in some of these calls.
"""

import itertools
import json
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline import bundle
from plumbline.contract.answers import SAME_MACHINE, is_same_answer
from plumbline.contract.errors import BundleError, RegistryError
from plumbline.contract.task import Columns, Task
from plumbline.process.files import read_json
from plumbline.registry.package import packaging
from plumbline.registry.package.clean_run import ask_in_clean_process
from plumbline.tracking import mlflow_client, store_errors

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
class Rehearsal:
    """What a package did in a clean process: what was wrong with it, and what it took."""

    num_rows: int  # asked again in another order
    num_singles: int  # asked alone
    seed: int  # of the order
    longest_ms: float | None  # one call with the longest input; None where none was asked
    rss_mb: float  # with golden rows and the longest input
    problems: Sequence[str]


def verify_package(uri: str, golden: Path, task: Task[Any], digest: str) -> Rehearsal:
    """Fetch the package at `uri` from its store, and ask it as `ask_package` does.

    RegistryError where it cannot be fetched.
    """
    from mlflow.artifacts import download_artifacts

    mlflow_client.connect()
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        try:
            package = Path(download_artifacts(uri, dst_path=private))
        except Exception as error:  # noqa: BLE001  each kind of store raises its own
            raise RegistryError(
                f"{uri}: its files cannot be fetched ({store_errors.shorten_error(error)}); run "
                "the same command again"
            ) from None
        try:
            return ask_package(package, golden, task, digest)
        except BundleError as error:  # the copy is gone when somebody reads this
            raise BundleError(str(error).replace(str(package), uri)) from None


def ask_package(
    package: Path,
    golden: Path,
    task: Task[Any],
    digest: str,
    calls: Sequence[Call] = (),
    longest: Columns | None = None,
    row_ms: float = 0.0,
    described: Mapping[str, Any] | None = None,
) -> Rehearsal:
    """Load a package in a clean process that has only what it requires; compare its answers.

    Where it is `described`, that process writes it to `package` first, of a bundle that is checked.

    Golden rows must be answered as in `golden`, faulty ones with an error, those of `calls` as
    before; `longest` is an input of one row. `row_ms` is the measured time of one row: the clean
    process may take several times as long. BundleError where the package cannot answer, or holds
    what plumbline did not write.
    """
    if described is None:
        packaging.check_package(package)
        bundle.require_digest(package / packaging.ARTIFACTS["bundle"], digest, package)
    expected = read_json(golden)
    seed = secrets.randbits(32)  # nobody knows the order before
    batches = plan_batches(calls, seed)
    each = itertools.cycle([place] for batch in batches for place in batch)
    singles = list(itertools.islice(each, NUM_SINGLES))
    asked = {
        "described": described and dict(described),
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
    result = ask_in_clean_process(package, asked, rows, num_rows, row_ms)
    problems = [
        *_find_wrong_answers(expected["outputs"], result["answers"])[:1],
        *_find_missing_errors(result["errors"]),
    ]
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
    for left in by_kind.values():
        while left:
            size = int(rng.integers(1, MAX_BATCH, endpoint=True))
            batches.append(left[:size])
            left = left[size:]
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
    columns = {}
    for name in first.columns:
        columns[name] = [calls[call].columns[name][row] for call, row in places]
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


def _find_missing_errors(errors: Mapping[str, str]) -> list[str]:
    problems = []
    for name, message in errors.items():
        if not message:
            problems.append(f"the packaged model answers {name} instead of refusing it")
    return problems


def _is_repeated(before: str, answer: str) -> bool:
    if answer == before:
        return True
    one, other = _sort_lists(json.loads(before)), _sort_lists(json.loads(answer))
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
