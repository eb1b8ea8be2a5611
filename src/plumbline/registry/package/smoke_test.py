"""A smoke test of a package in a clean process: it answers there as it was measured."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.answers import SAME_MACHINE, is_same_answer
from plumbline.contract.errors import BundleError, RegistryError
from plumbline.contract.task import Task
from plumbline.registry.package import mlmodel, packaging
from plumbline.tracking import mlflow_client, store_location

PYTHON = sys.executable  # which runs the clean process
TIMEOUT_S = 300
SCRIPT = """
import json, resource, sys
for name in ("plumbline", "torch", "transformers"):
    sys.modules[name] = None  # a user of the model may have none of these
import mlflow, pandas
package, questions, answered = sys.argv[1:]
model = mlflow.pyfunc.load_model(package)
questions = json.load(open(questions, encoding="utf-8"))
ask = lambda rows: model.predict(pandas.DataFrame(rows), params=questions["params"]).to_dict("list")
answers, errors = ask(questions["inputs"]), {}
for name, rows in questions["faulty"].items():
    try:
        errors[name] = ask(rows) and ""
    except Exception as error:
        errors[name] = str(error).strip() or type(error).__name__
try:  # Linux: its ru_maxrss is at least the peak of the process that started this one
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    peak = int(status["VmHWM"].split()[0]) * 1024
except (FileNotFoundError, KeyError):  # macOS: in bytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = {"answers": answers, "errors": errors, "rss_mb": peak / 1e6}
json.dump(result, open(answered, "w", encoding="utf-8"), default=lambda value: value.tolist())
"""


@dataclass(frozen=True)
class SmokeTest:
    """What a package did in a clean process: what was wrong with it, and the memory it took."""

    problems: tuple[str, ...]
    rss_mb: float


def verify_package_of(folder: Path, golden: Path, task: Task[Any]) -> SmokeTest:
    """Package the bundle in `folder` as it would be registered, and test it in a clean process."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        package = Path(private) / "model"
        packaging.save_package(folder, golden, task, package)
        return verify_package(str(package), golden, task)


def verify_package(model_uri: str, golden: Path, task: Task[Any]) -> SmokeTest:
    """Load the package in a clean process, without plumbline or torch; ask golden and faulty rows.

    Golden rows must be answered as in `golden`, faulty ones with an error. Raises BundleError if
    the package cannot answer or holds what plumbline did not write, RegistryError if it cannot be
    fetched.
    """
    expected = layout.read_json(golden)
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        package = _fetch_package(model_uri, Path(private) / "package")
        mlmodel.check_package(package)
        questions = {"inputs": expected["inputs"], "params": expected["params"]}
        questions["faulty"] = {name: dict(columns) for name, columns in task.faulty.items()}
        result = _ask_in_clean_process(package, questions, Path(private))
    problems = [
        *_find_wrong_answers(expected["outputs"], result["answers"])[:1],
        *_find_missing_errors(result["errors"]),
    ]
    return SmokeTest(tuple(problems), float(result["rss_mb"]))


def _fetch_package(uri: str, target: Path) -> Path:
    """Copy the package at `uri` to `target`; a local folder is the package itself."""
    if Path(uri).is_dir():
        return Path(uri)
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    mlflow_client.connect()
    target.mkdir()
    try:
        return Path(download_artifacts(uri, dst_path=str(target)))
    except (MlflowException, OSError) as error:
        raise RegistryError(
            f"{uri}: its files cannot be fetched ({store_location.shorten_error(error)})"
        ) from None


def _ask_in_clean_process(package: Path, questions: Mapping[str, Any], folder: Path) -> Any:
    asked, answered = folder / "asked.json", folder / "answered.json"
    layout.write_json(asked, questions)
    command = [PYTHON, "-I", "-B", "-c", SCRIPT, str(package), str(asked), str(answered)]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise BundleError(f"the packaged model did not answer within {TIMEOUT_S} s") from None
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines() or ["no message"]
        raise BundleError(f"the packaged model does not answer in a clean process: {lines[-1]}")
    return layout.read_json(answered)


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
