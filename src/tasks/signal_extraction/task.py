"""The record of the task: what stages know of it before they import one of its parts."""

from pathlib import Path

from plumbline.contract.task import Field, Metric, Signature, Task
from tasks.signal_extraction.params import SignalParams

NUMBERS = {"type": "array", "items": {"type": "double"}}

TASK = Task[SignalParams](
    name="signal_extraction",
    package="tasks.signal_extraction",
    metric=Metric("mse", higher_is_better=False, kind="continuous"),
    signature=Signature(
        inputs=(
            Field("signal", NUMBERS),
            Field("frequency_hz", "double"),
            Field("state", NUMBERS, required=False),
        ),
        outputs=(Field("component", NUMBERS), Field("state", NUMBERS)),
    ),
    example={"signal": [[0.03, 0.05, 0.09, 0.11, 0.12]], "frequency_hz": [3.0]},
    faulty={
        "an empty signal": {"signal": [[]], "frequency_hz": [3.0]},
        "a missing sample": {"signal": [[0.1, None]], "frequency_hz": [3.0]},
        "a frequency that the model does not know": {"signal": [[0.1, 0.2]], "frequency_hz": [4.5]},
        "a state of another model": {
            "signal": [[0.1]],
            "frequency_hz": [3.0],
            "state": [[0.5] * 100_003],
        },
        "another column": {"samples": [[0.1, 0.2]], "frequency_hz": [3.0]},
    },
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=("numpy", "onnxruntime", "safetensors"),
)
