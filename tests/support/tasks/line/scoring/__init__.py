"""Squared error, against the constant and the noise itself."""

from pathlib import Path

import numpy as np

from plumbline.contract.task import Bound, Case, Leak, Scores


class Constant:
    def __init__(self, value: float) -> None:
        self.value = value

    def predict(self, columns, **params):
        return {"y": [self.value] * len(columns["x"])}


def inputs(examples: Path, split: str):
    from plumbline.tasks.line.data import read

    return {"x": read(examples, split)["x"].tolist()}


def score(examples: Path, split: str, predictor) -> Scores:
    from plumbline.tasks.line.data import read

    found = np.array(predictor.predict(inputs(examples, split))["y"])
    error = (found - read(examples, split)["y"].to_numpy()) ** 2
    return Scores({"squared_error": error}, {"squared_error": float(error.mean())})


def baselines(params, examples: Path):
    from plumbline.tasks.line.data import read

    return {"mean": Constant(float(read(examples, "train")["y"].mean()))}


def bounds(params, examples: Path, split: str) -> Bound:
    return Bound(params.data.noise**2, "no line is closer to the points than their own noise")


def leaks(params, examples: Path) -> list[Leak]:
    from plumbline.tasks.line.data import read

    known, asked = set(read(examples, "train")["x"]), read(examples, "test")["x"]
    return [Leak("exact", "test", int(asked.isin(known).sum()), len(asked), ())]


def behaviour(params, examples: Path, predictor) -> list[Case]:
    low, high = predictor.predict({"x": [-1.0, 1.0]})["y"]
    return [
        Case("rising", "direction", int(high > low), 1, () if high > low else ("y(1) <= y(-1)",))
    ]


def figures(params, candidates):
    return []
