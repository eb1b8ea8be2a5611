"""From a bundle to an MLflow PyFunc: what is logged of a model."""

import json
import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract.task import Field, Signature, Task
from plumbline.process.files import digest_path
from plumbline.registry.package import requirements
from plumbline.registry.reader.addresses import BUNDLE_TAG, GOLDEN_TAG
from plumbline.tracking import mlflow_client

if TYPE_CHECKING:
    from mlflow.models import ModelSignature


def log_model(folder: Path, golden: Path, task: Task[Any], run_id: str) -> Any:
    """Log the bundle in `folder`, with its golden rows, as a PyFunc; return the ModelInfo."""
    import mlflow

    candidate = str(bundle.verify(folder)["candidate"])
    with _describe_package(folder, golden, task) as package, mlflow.start_run(run_id=run_id):
        return mlflow.pyfunc.log_model(name=candidate, **package)


def save_package(folder: Path, golden: Path, task: Task[Any], target: Path) -> None:
    """Write to `target` the package that would be logged of the bundle in `folder`."""
    mlflow_client.connect()
    import mlflow

    with _describe_package(folder, golden, task) as package:
        mlflow.pyfunc.save_model(path=str(target), **package)


@contextmanager
def _describe_package(folder: Path, golden: Path, task: Task[Any]) -> Iterator[dict[str, Any]]:
    """The arguments that MLflow takes to log or save a package."""
    import pandas as pd

    logging.getLogger("mlflow.models.model").setLevel(logging.ERROR)
    sys.dont_write_bytecode = True  # MLflow runs the model's code once, in the folder that it logs
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        pins = Path(private) / "requirements.txt"
        lines = requirements.pin_versions(task.requirements)
        pins.write_text("\n".join(lines) + "\n", encoding="utf-8")
        # MLflow keeps the folder's name.
        files = shutil.copytree(folder, Path(private) / "bundle")
        yield {
            "python_model": str(Path(__file__).with_name("pyfunc.py")),
            "artifacts": {"bundle": str(files), "golden": str(golden)},
            "signature": build_signature(bundle.read_signature(folder)),
            "input_example": pd.DataFrame(dict(task.example)),
            "pip_requirements": str(pins),
            "metadata": {
                BUNDLE_TAG: bundle.digest(folder),
                GOLDEN_TAG: digest_path(golden),
                "task": task.name,
            },
        }


def build_signature(signature: Signature) -> "ModelSignature":
    """Return the signature in MLflow's terms."""
    from mlflow.models import ModelSignature
    from mlflow.types import ParamSchema, Schema

    def build_schema(fields: Sequence[Field]) -> Schema:
        return Schema.from_json(json.dumps([_describe_column(field) for field in fields]))

    params = []
    for param in signature.params:
        params.append(
            {"name": param.name, "type": param.type, "default": param.default, "shape": None}
        )
    return ModelSignature(
        build_schema(signature.inputs),
        build_schema(signature.outputs),
        ParamSchema.from_json(json.dumps(params)),
    )


def _describe_column(field: Field) -> dict[str, Any]:
    kind = {"type": field.type} if isinstance(field.type, str) else dict(field.type)
    return {"name": field.name, "required": field.required, **kind}
