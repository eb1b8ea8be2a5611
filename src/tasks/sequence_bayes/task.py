"""The record of the task: what stages know of it before they import one of its parts."""

from pathlib import Path

from plumbline.contract.task import Field, Metric, Param, Signature, Task
from tasks.sequence_bayes.params import SequenceParams

NUMBERS = {"type": "array", "items": {"type": "double"}}

TASK = Task[SequenceParams](
    name="sequence_bayes",
    package="tasks.sequence_bayes",
    metric=Metric("regret", higher_is_better=False, kind="continuous"),
    signature=Signature(
        inputs=(Field("sequence", {"type": "array", "items": {"type": "long"}}),),
        outputs=(
            Field("probabilities", NUMBERS),
            Field("entropy", "double"),
            Field("epistemic", NUMBERS),
            Field("predictive", {"type": "array", "items": NUMBERS}),
            Field("symbols_used", "long"),
        ),
        params=(
            Param("rollouts", "long", 0),
            Param("continuation", "long", 24),
            Param("all_positions", "boolean", False),
        ),
    ),
    example={"sequence": [[0, 1, 1, 0, 1]]},
    faulty={
        "a symbol that does not exist": {"sequence": [[0, 99]]},
        "a negative symbol": {"sequence": [[0, -1]]},
        "a fraction": {"sequence": [[0.5, 1.5]]},
        "a missing symbol": {"sequence": [[0, None]]},
        "a missing sequence": {"sequence": [None]},
        "another column": {"history": [[0, 1]]},
    },
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=("numpy", "safetensors", "threadpoolctl"),
)
