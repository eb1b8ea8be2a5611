"""The line, as it is served."""

import json
from pathlib import Path


class Line:
    forms = ("exact",)

    def __init__(self, slope: float, intercept: float) -> None:
        self.slope, self.intercept = slope, intercept

    def predict(self, columns, **params):
        for row, x in enumerate(columns["x"]):
            if x is None or x != x:
                raise ValueError(f"row {row}: x is missing")
        return {"y": [self.slope * x + self.intercept for x in columns["x"]]}


def load(folder: Path, form: str | None = None) -> Line:
    return Line(**json.loads((folder / "weights.json").read_text(encoding="utf-8")))
