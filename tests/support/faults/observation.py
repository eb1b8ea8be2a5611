"""What a pipeline left behind: results to compare, and what must not be there."""

import contextlib
import hashlib
import json
import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

DOCUMENTS = ("reports/evidence.json", "reports/metrics.json", "reports/registration.json",
             "reports/validation.json", "reports/golden.json", "data/source.json")  # fmt: skip
REGISTRY = ("model_versions", "registered_model_aliases")  # tables of MLflow
FOLDERS = ("data", "models", "reports")
MILLISECONDS = re.compile(rb"[\d.,]+ ms")  # in the model card: rounded, so that two may be equal
ROUNDING = 1e-6
# Measured in each run, so that two runs may differ in them, and may be equal by chance.
MEASURED = {
    (DOCUMENTS[0], name)
    for name in (
        "one_p50", "one_p95", "batch_p50", "batch_p95", "p50", "p95",
        "longest_ms", "rows_per_s", "rss_mb", "slowdown",
    )
}  # fmt: skip
# What git, DVC, MLflow and the tests keep for themselves.
OWN = (".git", ".dvc", "mlruns", "src", "__pycache__", "stages", "tracked.json")


def read_results(work: Path) -> dict[str, Any]:
    """Read every value of every result, by file and key; files of bytes by their digest."""
    results: dict[str, Any] = {}
    for name in DOCUMENTS:
        results |= {f"{name}:{key}": value for key, value in _flatten(_read_json(work / name))}
    for folder in FOLDERS:
        for path in sorted((work / folder).rglob("*")):
            name = str(path.relative_to(work))
            if path.is_file() and name not in DOCUMENTS:
                content = MILLISECONDS.sub(b"ms", path.read_bytes())
                results[name] = hashlib.sha256(content).hexdigest()
    results.pop(f"{DOCUMENTS[0]}:.digests.model_card", None)  # of milliseconds too
    for table in REGISTRY:
        query = f"SELECT count(*) FROM {table}"  # noqa: S608  constants
        results[table] = _ask(work / "mlruns/mlflow.db", query)
    actions = "SELECT action, version, previous FROM plumbline_journal ORDER BY number"
    results["journal"] = _ask(work / "mlruns/journal.db", actions)
    return results


def list_remains(work: Path, usual: Iterable[str]) -> list[str]:
    """List the files and folders that an undisturbed run does not leave."""
    return sorted(list_files(work).difference(usual))


def list_registry_remains(work: Path) -> list[str]:
    """List what a whole run does not leave in MLflow: runs that go on, copies of bundles."""
    running = _ask(work / "mlruns/mlflow.db", "SELECT name FROM runs WHERE status = 'RUNNING'")
    remains = [f"run {row[0]} is RUNNING" for row in running]
    num_models = len(list((work / "mlruns/artifacts/models").glob("m-*")))
    num_versions = _ask(work / "mlruns/mlflow.db", "SELECT count(*) FROM model_versions")
    if [[num_models]] != num_versions:
        remains.append(f"{num_models} copies of bundles for {num_versions[0][0]} versions")
    return remains


def list_files(work: Path) -> set[str]:
    """List all files and folders of a checkout but those that others keep for themselves."""
    names = set()
    for path in work.rglob("*"):
        relative = path.relative_to(work)
        if not set(OWN) & set(relative.parts):
            names.add(str(relative))
    return names


def compare(
    expected: Mapping[str, Any], actual: Mapping[str, Any], times: Iterable[str]
) -> list[str]:
    """List the keys of results that differ, but for what is measured and for `times`.

    `times` are the keys that differ between two runs without a fault, such as the date. A name is
    left out for all candidates where one of them has it. Numbers that differ by less than ROUNDING
    are equal: sums in torch depend on where arrays are in memory, and the gate `export` reports the
    difference of two of them.
    """
    names = MEASURED | {_name_value(key) for key in times}
    keys = [key for key in expected.keys() | actual.keys() if _name_value(key) not in names]
    return sorted(key for key in keys if not _is_equal(expected.get(key), actual.get(key)))


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=0, abs_tol=ROUNDING)
    return bool(one == other)


def _name_value(key: str) -> tuple[str, str]:
    """Return the file and the last name of a key such as evidence.json:.cost.closed.one_p50."""
    file, _, path = key.partition(":")
    return file, path.rpartition(".")[2]


def _flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _flatten(each, f"{prefix}.{key}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _flatten(each, f"{prefix}.{number}")
    else:
        yield prefix, value


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return {"unreadable": type(error).__name__}


def _ask(database: Path, query: str) -> list[list[Any]]:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
            return [list(row) for row in opened.execute(query)]
    except sqlite3.Error as error:
        return [[str(error)]]
