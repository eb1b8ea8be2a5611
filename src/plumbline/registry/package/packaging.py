"""From a bundle to an MLflow PyFunc and back: the package, the proof that it answers alike, the verified load."""

import json
import logging
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, RegistryError
from plumbline.contract.task import Field, Predictor, Signature, Task
from plumbline.registry import model_versions
from plumbline.registry.package import mlmodel
from plumbline.tracking import mlflow_runs

if TYPE_CHECKING:
    from mlflow.models import ModelSignature

TOLERANCE = 1e-5  # the same model in another process: summation order may differ, an answer may not
REHEARSAL_TIMEOUT_S = 300
REHEARSAL = """
import json, resource, sys
for name in ("plumbline", "torch", "transformers"):
    sys.modules[name] = None  # whoever loads the model may have none of these
import mlflow, pandas
package, asked, answered = sys.argv[1:]
model = mlflow.pyfunc.load_model(package)
asked = json.load(open(asked, encoding="utf-8"))
ask = lambda rows: model.predict(pandas.DataFrame(rows), params=asked["params"]).to_dict("list")
answers, errors = ask(asked["inputs"]), {}
for name, rows in asked["faulty"].items():
    try:
        errors[name] = ask(rows) and ""
    except Exception as error:
        errors[name] = str(error).strip() or type(error).__name__
try:  # Linux: its ru_maxrss is at least the peak of whoever started this process
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    peak = int(status["VmHWM"].split()[0]) * 1024
except (FileNotFoundError, KeyError):  # macOS: in bytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = {"answers": answers, "errors": errors, "rss_mb": peak / 1e6}
json.dump(found, open(answered, "w", encoding="utf-8"), default=lambda value: value.tolist())
"""


@dataclass(frozen=True)
class Rehearsal:
    """What a package did in a clean process: what was wrong with it, and the memory it took."""

    problems: tuple[str, ...]
    rss_mb: float


def log_model(folder: Path, golden: Path, task: Task, run_id: str) -> Any:
    """Log the bundle in `folder`, with its golden rows, as a PyFunc of `run_id` and return MLflow's ModelInfo."""
    import mlflow

    with _package(folder, golden, task) as package, mlflow.start_run(run_id=run_id):
        return mlflow.pyfunc.log_model(name=str(bundle.verify(folder)["candidate"]), **package)


def rehearsed(folder: Path, golden: Path, task: Task) -> Rehearsal:
    """Package the bundle in `folder` as it would be registered, and see how the package does in a clean process."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        mlflow_runs.connect()
        import mlflow

        with _package(folder, golden, task) as package:
            mlflow.pyfunc.save_model(path=str(Path(private) / "model"), **package)
        return rehearse(str(Path(private) / "model"), golden, task)


def rehearse(model_uri: str, golden: Path, task: Task) -> Rehearsal:
    """Load the package in a clean process, without plumbline or torch, and ask it golden rows and faulty ones.

    Golden rows must be answered as in `golden`, faulty ones with an error. Raises BundleError if it cannot be asked, or
    holds what is not ours; RegistryError if it cannot be fetched.
    """
    expected = layout.read_json(golden)
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        package = _fetched(model_uri, Path(private) / "package")
        mlmodel.check(package)
        asked, answered = Path(private) / "asked.json", Path(private) / "answered.json"
        faulty = {name: dict(columns) for name, columns in task.faulty.items()}
        layout.write_json(
            asked, {"inputs": expected["inputs"], "params": expected["params"], "faulty": faulty}
        )
        command = [
            sys.executable,
            "-I",
            "-B",
            "-c",
            REHEARSAL,
            str(package),
            str(asked),
            str(answered),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=REHEARSAL_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise BundleError(
                f"the packaged model did not answer within {REHEARSAL_TIMEOUT_S} s"
            ) from None
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise BundleError(f"the packaged model does not answer in a clean process: {last}")
        found = layout.read_json(answered)
    wrong = [
        f"the packaged model answers golden row {row} ({column}) otherwise than evaluate did"
        for column, values in expected["outputs"].items()
        for row, value in enumerate(values)
        if not _alike(found["answers"].get(column, [])[row : row + 1], [value])
    ]
    silent = [
        f"the packaged model answers {name} instead of refusing it"
        for name, e in found["errors"].items()
        if not e
    ]
    return Rehearsal((*wrong[:1], *silent), float(found["rss_mb"]))


def load(uri: str) -> tuple[Predictor, Any]:
    """The verified load: predictor and model version of `models:/NAME@ALIAS` or `models:/NAME/VERSION`.

    The files must be those that were registered: the seal is checked against the registry before any code of the model
    runs. Raises RegistryError where there is no such version, BundleError where its files are not what they were.
    """
    found = model_versions.resolve(uri)
    files = folder(
        f"models:/{found.name}/{found.version}"
    )  # that version, wherever an alias moves meanwhile
    registered = str(found.tags.get(model_versions.BUNDLE_TAG))
    if bundle.digest(files) != registered:
        raise BundleError(
            f"{uri}: version {found.version} is not the bundle that was registered; do not use it"
        )
    return bundle.load(files, expected=registered), found


def folder(uri: str) -> Path:
    """The bundle of a registered version as files, not verified yet: the store's own, or a copy of them."""
    return _fetched(uri, None) / mlmodel.ARTIFACTS["bundle"]


def recorded(version: Any, name: str, folder: Path) -> Path:
    """A file that stands beside a registered version in its run, fetched into `folder`; RegistryError if it cannot."""
    from mlflow.exceptions import MlflowException

    client = mlflow_runs.connect()
    try:
        return Path(client.download_artifacts(version.run_id, name, str(folder)))
    except (MlflowException, OSError) as error:
        raise RegistryError(
            f"{version.name} version {version.version}: {name} cannot be fetched ({mlflow_runs.first_line(error)})"
        ) from None


def _fetched(uri: str, target: Path | None) -> Path:
    """The package at `uri`, a copy in `target` if it is given; a folder here is the package itself."""
    if Path(uri).is_dir():
        return Path(uri)
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    mlflow_runs.connect()
    if target:
        target.mkdir()
    try:
        return Path(download_artifacts(uri, dst_path=target and str(target)))
    except (MlflowException, OSError) as error:
        raise RegistryError(
            f"{uri}: its files cannot be fetched ({mlflow_runs.first_line(error)})"
        ) from None


@contextmanager
def _package(folder: Path, golden: Path, task: Task) -> Iterator[dict[str, Any]]:
    """What MLflow is told of a package, whether it is logged or saved."""
    import pandas as pd

    logging.getLogger("mlflow.models.model").setLevel(logging.ERROR)
    sys.dont_write_bytecode = True  # MLflow runs the model's code once, in the folder that it logs
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        requirements = Path(private) / "requirements.txt"
        requirements.write_text("\n".join(_requirements(task)) + "\n", encoding="utf-8")
        named = shutil.copytree(folder, Path(private) / "bundle")  # MLflow keeps the folder's name
        yield {
            "python_model": str(Path(__file__).with_name("pyfunc.py")),
            "artifacts": {"bundle": str(named), "golden": str(golden)},
            "signature": _signature(task.signature),
            "input_example": pd.DataFrame(dict(task.example)),
            "pip_requirements": str(requirements),
            "metadata": {
                model_versions.BUNDLE_TAG: bundle.digest(folder),
                model_versions.GOLDEN_TAG: layout.digest(golden),
                "task": task.name,
            },
        }


def _signature(signature: Signature) -> "ModelSignature":
    from mlflow.models import ModelSignature
    from mlflow.types import ParamSchema, Schema

    def column(field: Field) -> dict[str, Any]:
        form = {"type": field.type} if isinstance(field.type, str) else dict(field.type)
        return {"name": field.name, "required": field.required, **form}

    def schema(fields: Sequence[Field]) -> Schema:
        return Schema.from_json(json.dumps([column(field) for field in fields]))

    params = [
        {"name": p.name, "type": p.type, "default": p.default, "shape": None}
        for p in signature.params
    ]
    inputs, outputs = schema(signature.inputs), schema(signature.outputs)
    return ModelSignature(inputs, outputs, ParamSchema.from_json(json.dumps(params)))


def _requirements(task: Task) -> list[str]:
    """What the predictor imports, in the versions it was measured with (local labels such as +cpu are no versions)."""
    names = sorted({"mlflow", "pandas", *task.requirements})
    return [f"{name}=={version(name).partition('+')[0]}" for name in names]


def _alike(one: Any, other: Any) -> bool:
    """Equal, numbers within TOLERANCE."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= TOLERANCE
    return bool(one == other)
