"""Squared error, against the constant and the noise itself."""

from pathlib import Path

import numpy as np

from plumbline.contract.records import Bound, Case, Scores


class Constant:
    def __init__(self, value: float) -> None:
        self.value = value

    def predict(self, columns, **params):
        return {"y": [self.value] * len(columns["x"])}


def score(examples: Path, split: str, predictor) -> Scores:
    from tasks.line.data import read_inputs, read_points

    answers = np.array(predictor.predict(read_inputs(examples, split))["y"])
    errors = (answers - read_points(examples, split)["y"].to_numpy()) ** 2
    return Scores({"squared_error": errors}, {"squared_error": float(errors.mean())})


def build_baselines(params, examples: Path):
    from tasks.line.data import read_points

    return {"mean": Constant(float(read_points(examples, "train")["y"].mean()))}


def compute_bound(params, examples: Path, split: str) -> Bound:
    return Bound(params.data.noise**2, "no line is closer to the points than their own noise")


def check_answers(columns, params, answers) -> list[str]:
    return [f"row {row}: y is not finite" for row, y in enumerate(answers["y"]) if y - y != 0]


def build_longest_input(predictor):
    return {"x": [1e6]}


def check_behaviour(params, examples: Path, predictor) -> list[Case]:
    low, high = predictor.predict({"x": [-1.0, 1.0]})["y"]
    failures = () if high > low else ("y(1) <= y(-1)",)
    return [Case("rising", "direction", int(high > low), 1, failures)]


def draw_figures(params, candidates):
    return []
