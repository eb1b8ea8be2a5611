"""control: a candidate is trained on shuffled answers; whatever it then knows, it should not have seen."""

import tempfile
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.stages.train import accepted, learn
from plumbline.tracking import mlflow_runs


def control(params: Params, task: Task, candidate: str) -> None:
    """Write models/control.<candidate>/ and its learning curve, by the very code that trains candidates."""
    accepted()
    name = layout.control(candidate)
    layout.CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="control-", dir=layout.CHECKPOINTS.parent) as folder:
        task.permuted(layout.EXAMPLES, Path(folder), params.seed, params.control.max_rows)
        shuffled = params.model_copy(update={"candidates": {name: params.candidates[candidate]}})
        with mlflow_runs.run(shuffled, f"control {candidate}") as log:
            learn(shuffled, task, name, Path(folder), log, must_learn=False)
