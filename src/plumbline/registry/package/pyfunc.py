"""The model as MLflow logs it: code, not a pickle. It runs without plumbline, from the files in the bundle alone."""

import hashlib
import importlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd

EVALUATOR = "mlflow.models.evaluation.evaluators.classifier"


class BundleModel(mlflow.pyfunc.PythonModel):  # type: ignore[misc]  # mlflow's base class is untyped
    """Answers a DataFrame with the predictor that the bundle brings along."""

    def load_context(self, context: Any) -> None:
        """Build the predictor from its own code: predictor.py, or the package predictor."""
        folder = Path(context.artifacts["bundle"])
        writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a bundle is sealed
        try:
            self.predictor = _import_predictor(folder).load(folder)
        finally:
            sys.dont_write_bytecode = writes_none

    def predict(
        self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame | pd.Series:
        """One row of answers for each row of `model_input`, with its index."""
        columns = {name: model_input[name].tolist() for name in model_input.columns}
        answers = self.predictor.predict(columns, **(params or {}))
        table = pd.DataFrame(answers, index=model_input.index)
        return table.iloc[:, 0] if _is_evaluated() else table


def _import_predictor(folder: Path) -> types.ModuleType:
    """Import the code of a bundle under a name of its own: several models may be in one process."""
    digest = hashlib.sha256((folder / "bundle.json").read_bytes()).hexdigest()
    name = f"bundle_predictor_{digest[:16]}"
    first = folder / "predictor/__init__.py"
    code = first if first.exists() else folder / "predictor.py"
    spec: Any = importlib.util.spec_from_file_location(name, code)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    for path in folder.glob("predictor/*.py"):  # all now: nothing is imported later
        if path != first:
            importlib.import_module(f"{name}.{path.stem}")
    return module


def _is_evaluated() -> bool:
    """Whether `mlflow.models.evaluate` asks as of a classifier: it fails for more than one column."""
    frame: types.FrameType | None = sys._getframe()
    while frame and frame.f_globals.get("__name__") != EVALUATOR:
        frame = frame.f_back
    return frame is not None


mlflow.models.set_model(BundleModel())
