"""The record of the task."""

from pathlib import Path

from plumbline.contract.task import Field, Metric, Signature, Task

TASK = Task(
    name="houses",
    package="houses",
    metric=Metric("mae", higher_is_better=False, kind="continuous"),
    signature=Signature(
        inputs=(
            Field("area", "double"),
            Field("rooms", "double", required=False),
            Field("year", "double", required=False),
            Field("district", "string", required=False),
            Field("heating", "string", required=False),
        ),
        outputs=(Field("price", "double"),),
    ),
    example={"area": [84.0], "rooms": [3.0], "year": [1972.0], "district": ["mill"]},
    faulty={"no area": {"area": [None]}, "a word": {"area": [80.0], "rooms": ["three"]}},
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=("numpy",),
)
