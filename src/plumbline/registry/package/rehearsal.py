"""A package answers in a clean process, with nothing of the checkout near it, as it was measured.

The rows that evaluate scored are asked again in another order, in batches of other sizes, and
alone. An answer that depends on the order, on its neighbours, on chance or on what lies around
differs in some of these calls.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract.answers import SAME_MACHINE, is_same_answer
from plumbline.contract.errors import BundleError, RegistryError
from plumbline.contract.task import Columns, Task
from plumbline.process.files import read_json
from plumbline.process.system_errors import NO_SPACE, find_errno
from plumbline.registry.package import mlmodel, packaging, questions, requirements
from plumbline.registry.package.clean_run import ask_in_clean_process, compute_time_limit
from plumbline.registry.package.questions import Call, RowAnswer
from plumbline.tracking import mlflow_client, store_errors

TARGET_IS_FULL = (*NO_SPACE, errno.EFBIG)


@dataclass(frozen=True)
class Rehearsal:
    """What a package did in a clean process: what was wrong with it, and what it took."""

    problems: tuple[str, ...]
    rss_mb: float  # with golden rows and the longest input
    longest_ms: float | None  # one call with the longest input; None where none was asked
    num_rows: int  # asked again in another order
    num_singles: int  # asked alone
    seed: int  # of the order
    answers: Sequence[Sequence[str]]  # of each call, row by row, as JSON


def rehearse(
    folder: Path,
    digest: str,
    golden: Path,
    task: Task[Any],
    calls: Sequence[Call],
    longest: Columns,
    row_ms: float,
) -> Rehearsal:
    """Package the bundle in `folder` as it would be registered; ask it in a clean process.

    It is asked the rows of `calls` again, and `longest`, an input of one row. `row_ms` is the
    measured time of one row; the clean process may take several times as long. BundleError where
    the bundle is not the one with this `digest`.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        package = Path(private) / "model"
        packaging.save_package(folder, golden, task, package)
        return verify_package(str(package), golden, task, digest, calls, longest, row_ms)


def verify_package(
    model_uri: str,
    golden: Path,
    task: Task[Any],
    digest: str,
    calls: Sequence[Call] = (),
    longest: Columns | None = None,
    row_ms: float = 0.0,
) -> Rehearsal:
    """Load the package in a clean process that has only what it requires; compare its answers.

    Golden rows must be answered as in `golden`, faulty ones with an error, those of `calls` as
    before. Raises BundleError if the package cannot answer, or holds what plumbline did not write,
    and RegistryError if it cannot be fetched.
    """
    expected = read_json(golden)
    plan = questions.plan_questions(calls)
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        folder = Path(private)
        package = _fetch_package(model_uri, folder / "package")
        _check_copy(package, model_uri)
        bundle.require_digest(package / mlmodel.ARTIFACTS["bundle"], digest, Path(model_uri))
        paths = questions.write_plan(plan, calls, folder)
        asked = _build_questions(task, expected, longest) | paths
        limit = compute_time_limit(sum(len(call.rows) for call in calls), row_ms)
        result = ask_in_clean_process(package, asked, folder, limit)
    again = plan.collect_answers(result["batches"], result["singles"])
    return Rehearsal(
        problems=(*_find_problems(expected, result), *questions.compare_answers(calls, again)),
        rss_mb=float(result["rss_mb"]),
        longest_ms=result["longest_ms"],
        num_rows=sum(len(call.rows) for call in calls),
        num_singles=len(result["singles"]),
        seed=plan.seed,
        answers=_sort_answers(calls, again),
    )


def _build_questions(
    task: Task[Any], golden: Mapping[str, Any], longest: Columns | None
) -> dict[str, Any]:
    return {
        "blocked": requirements.list_other_modules(task.requirements),
        "golden": {"inputs": golden["inputs"], "params": golden["params"]},
        "faulty": {name: dict(columns) for name, columns in task.faulty.items()},
        "longest": longest and dict(longest),
    }


def _fetch_package(uri: str, target: Path) -> Path:
    """Copy the package at `uri` to `target`; nothing of it is checked or loaded here."""
    if Path(uri).is_dir():
        return _copy_package(Path(uri), target)
    from mlflow.artifacts import download_artifacts

    mlflow_client.connect()
    target.mkdir()
    try:
        return Path(download_artifacts(uri, dst_path=str(target)))
    except Exception as error:  # noqa: BLE001  each kind of store raises its own
        raise RegistryError(
            f"{uri}: its files cannot be fetched ({store_errors.shorten_error(error)}); run the "
            "same command again"
        ) from None


def _copy_package(package: Path, target: Path) -> Path:
    """Copy a local package, links as links; BundleError where it has pipes or devices."""
    try:
        return shutil.copytree(package, target, symlinks=True)
    except OSError as error:  # shutil.Error is a list, with what happened to each file as text
        number = find_errno(error)
        if number in TARGET_IS_FULL:
            raise OSError(number, os.strerror(number), str(target)) from None
        reason = " ".join(str(error).split())
        raise BundleError(f"{package}: cannot be copied ({reason:.200}); do not load it") from None


def _check_copy(package: Path, uri: str) -> None:
    """BundleError where MLflow would run what plumbline did not write."""
    try:
        mlmodel.check_package(package)
    except BundleError as error:  # the copy is gone when somebody reads this
        raise BundleError(str(error).replace(str(package), uri)) from None
    mlmodel.drop_bytecode(package)


def _find_problems(golden: Mapping[str, Any], result: Mapping[str, Any]) -> list[str]:
    problems = [
        *_find_wrong_answers(golden["outputs"], result["answers"])[:1],
        *_find_missing_errors(result["errors"]),
    ]
    if result["longest_error"] is not None:
        reason = f"{result['longest_error']:.200}"
        problems.append(f"the packaged model does not answer the longest valid input ({reason})")
    return problems


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


def _sort_answers(calls: Sequence[Call], again: Sequence[RowAnswer]) -> list[list[str]]:
    """Return the answers of the batches in the order of `calls`."""
    ordered = [[""] * len(call.rows) for call in calls]
    for answer in again:
        if not answer.alone:
            ordered[answer.call][answer.row] = answer.text
    return ordered
