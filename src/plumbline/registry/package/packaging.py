"""From a bundle to an MLflow PyFunc: what is logged of a model, and what that requires."""

import json
import logging
import shutil
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from plumbline import bundle
from plumbline.contract.task import Field, Signature, Task
from plumbline.process.files import digest_path
from plumbline.registry.package.clean_process import build_arguments
from plumbline.registry.reader.addresses import BUNDLE_TAG, GOLDEN_TAG
from plumbline.registry.reader.contents import fetch_contents
from plumbline.registry.reader.stores import RegisteredVersion, connect_store

ALWAYS = ("mlflow", "pandas")  # what pyfunc.py imports itself
CODE = Path(__file__).with_name("pyfunc.py")


def log_model(folder: Path, golden: Path, task: Task[Any], run_id: str) -> Any:
    """Log the bundle in `folder`, with its golden rows, as a PyFunc; return the ModelInfo.

    BundleError where the registry's store does not give back the same files.
    """
    import mlflow

    candidate = str(bundle.verify(folder)["candidate"])
    logging.getLogger("mlflow.models.model").setLevel(logging.ERROR)
    sys.dont_write_bytecode = True  # MLflow runs the model's code once, in the folder that it logs
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        described = describe_package(folder, golden, task, Path(private))
        with mlflow.start_run(run_id=run_id):
            info = mlflow.pyfunc.log_model(name=candidate, **build_arguments(described))
        location = mlflow.get_logged_model(info.model_id).artifact_location
        stored = RegisteredVersion(candidate, "as stored", info.metadata, location, run_id, None)
        fetch_contents(connect_store(), stored, Path(private) / "stored")
    return info


def describe_package(folder: Path, golden: Path, task: Task[Any], private: Path) -> dict[str, Any]:
    """Describe in plain values what MLflow is to write of a bundle, of which `private` gets a copy.

    `clean_process.build_arguments` makes MLflow's arguments of it.
    """
    pins = private / "requirements.txt"
    lines = pin_versions(task.requirements)
    pins.write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = shutil.copytree(folder, private / "bundle")  # MLflow keeps the folder's name
    return {
        "python_model": str(CODE),
        "artifacts": {"bundle": str(files), "golden": str(golden)},
        "signature": describe_signature(bundle.read_signature(files)),
        "input_example": dict(task.example),
        "pip_requirements": str(pins),
        "metadata": {
            BUNDLE_TAG: bundle.digest(files),
            GOLDEN_TAG: digest_path(golden),
            "task": task.name,
        },
    }


def describe_signature(signature: Signature) -> dict[str, str]:
    """Describe a signature as MLflow reads it: each part as JSON."""
    params = [
        {"name": param.name, "type": param.type, "default": param.default, "shape": None}
        for param in signature.params
    ]
    return {
        "inputs": json.dumps([_describe_column(field) for field in signature.inputs]),
        "outputs": json.dumps([_describe_column(field) for field in signature.outputs]),
        "params": json.dumps(params),
    }


def _describe_column(field: Field) -> dict[str, Any]:
    kind = {"type": field.type} if isinstance(field.type, str) else dict(field.type)
    return {"name": field.name, "required": field.required, **kind}


def pin_versions(names: Iterable[str]) -> list[str]:
    """Pin what a predictor imports to the versions that it was measured with.

    Local labels such as +cpu are not part of a version.
    """
    pinned = []
    for name in sorted({*ALWAYS, *names}):
        pinned.append(f"{name}=={metadata.version(name).partition('+')[0]}")
    return pinned


@cache
def list_other_modules(names: tuple[str, ...]) -> list[str]:
    """List the modules here that are in no package that a model requires, directly or not."""
    required = _find_all_required((*ALWAYS, *names))
    other = ["plumbline"]
    for module, packages in metadata.packages_distributions().items():
        if not required & {canonicalize_name(package) for package in packages}:
            other.append(module)
    return sorted(set(other))


def _find_all_required(names: Iterable[str]) -> set[str]:
    """Find the packages that `names` need, their extras and markers applied."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        requirement = waiting.pop()
        key = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if key in found:
            continue
        found.add(key)
        try:
            texts = metadata.requires(requirement.name) or []
        except metadata.PackageNotFoundError:
            continue  # a marker that is true here, of a package that nobody installed
        for needed in map(Requirement, texts):
            extras = ("", *requirement.extras)
            if not needed.marker or any(needed.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(needed)
    return {name for name, _ in found}
