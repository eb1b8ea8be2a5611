"""The door of the task."""

from pathlib import Path

from plumbline.tasks.line import data, expectations, models, scoring

from plumbline.contract.task import Field, Metric, Signature, Task

TASK = Task(
    name="line",
    metric=Metric("squared_error", higher_is_better=False, kind="continuous"),
    signature=Signature(inputs=(Field("x", "double"),), outputs=(Field("y", "double"),)),
    example={"x": [0.5]},
    faulty={"no number": {"x": [None]}, "a word": {"x": ["far"]}},
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=(),
    ingest=data.ingest,
    table=expectations.table,
    expectations=expectations.expectations,
    learner=models.learner,
    permuted=data.permuted,
    inputs=scoring.inputs,
    score=scoring.score,
    baselines=scoring.baselines,
    bounds=scoring.bounds,
    leaks=scoring.leaks,
    behaviour=scoring.behaviour,
    figures=scoring.figures,
)
