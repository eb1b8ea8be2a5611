"""How good each answer is, what the baseline is, and what has to hold."""

import numpy as np

from houses.data import PRICE, read_inputs, read_rows
from plumbline.contract.records import Bound, Case, Scores


class Median:
    """Answers the median price of a row's district."""

    forms = ("exact",)

    def __init__(self, train):
        self._all = float(train[PRICE].median())
        self._medians = train.groupby("district")[PRICE].median().to_dict()

    def predict(self, columns):
        return {"price": [self._medians.get(name, self._all) for name in columns["district"]]}


def score(examples, split, predictor):
    rows = read_rows(examples, split)
    answers = np.array(predictor.predict(read_inputs(examples, split))["price"])
    errors = np.abs(answers - rows[PRICE].to_numpy())
    return Scores({"id": rows["id"].to_numpy(object), "mae": errors}, {"mae": float(errors.mean())})


def build_baselines(params, examples):
    return {"median": Median(read_rows(examples, "train"))}


def compute_bound(params, examples, split):
    return Bound(None, "nobody knows what else decides a price")


def check_answers(columns, params, answers):
    is_wrong = ~np.isfinite(answers["price"])
    return [f"row {row}: price is not finite" for row in np.flatnonzero(is_wrong)]


def build_longest_input(predictor):
    return {"area": [90.0], "rooms": [3.0], "year": [1990.0], "district": ["x"], "heating": [None]}


def check_behaviour(params, examples, predictor):
    inputs = {name: values[:100] for name, values in read_inputs(examples, "test").items()}
    prices = predictor.predict(inputs)["price"]
    larger = predictor.predict(inputs | {"area": [1.5 * area for area in inputs["area"]]})["price"]
    cheaper = [f"row {row}" for row in np.flatnonzero(np.array(larger) <= prices)]
    return [Case.build("a larger house costs more", "direction", cheaper, len(prices))]


def draw_figures(params, candidates):
    return []
