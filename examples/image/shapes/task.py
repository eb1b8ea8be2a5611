"""The record of the task."""

from pathlib import Path

from plumbline.contract.task import Field, Metric, Signature, Task

PIXELS = {"type": "array", "items": {"type": "array", "items": {"type": "long"}}}
PICTURE = [
    [180 if 4 < row < 12 and 4 < column < 12 else 80 for column in range(16)] for row in range(16)
]

TASK = Task(
    name="shapes",
    package="shapes",
    metric=Metric("accuracy", higher_is_better=True, kind="binary"),
    signature=Signature(
        inputs=(Field("pixels", PIXELS),),
        outputs=(Field("label", "string"), Field("score", "double")),
    ),
    example={"pixels": [PICTURE]},
    faulty={
        "no picture": {"pixels": [[]]},
        "a line is missing": {"pixels": [PICTURE[1:]]},
        "too bright": {"pixels": [[[256] * 16] * 16]},
        "a word": {"pixels": [[["white"] * 16] * 16]},
    },
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=("numpy", "safetensors", "torch"),
)
