"""The record of the task."""

from pathlib import Path

from plumbline.contract.task import Field, Metric, Signature, Task

TASK = Task(
    name="line",
    package="tasks.line",
    metric=Metric("squared_error", higher_is_better=False, kind="continuous"),
    signature=Signature(inputs=(Field("x", "double"),), outputs=(Field("y", "double"),)),
    example={"x": [0.5]},
    faulty={"no number": {"x": [None]}, "a word": {"x": ["far"]}},
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=(),
)
