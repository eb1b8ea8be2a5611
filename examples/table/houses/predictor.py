"""Answers rows from one JSON file of numbers. It goes into every bundle."""

import json
import math

import numpy as np

NUMBERS = ("area", "rooms", "year")
CATEGORIES = ("district", "heating")
INPUTS = (*NUMBERS, *CATEGORIES)


def load(folder, form=None):
    return Model(json.loads((folder / "model.json").read_text()))


class Model:
    """A linear model, or boosted trees, on encoded rows."""

    forms = ("exact",)

    def __init__(self, weights):
        self._weights = weights
        names = weights.keys() - {"medians", "known", "depth"}
        self._arrays = {name: np.array(weights[name]) for name in names}

    def predict(self, columns):
        features = encode(check_columns(columns), self._weights)
        is_linear = "slopes" in self._weights
        parts = self._arrays["slopes"] * features if is_linear else self._walk(features)
        return {"price": (self._arrays["start"] + parts.sum(axis=1)).tolist()}

    def _walk(self, features):
        """Return what each tree adds to each row; a leaf leads to itself."""
        features = features.astype(np.float32)  # as scikit-learn compares them
        rows, arrays = np.arange(len(features))[:, None], self._arrays
        nodes = np.tile(arrays["roots"], (len(features), 1))
        for _ in range(self._weights["depth"]):
            goes_left = features[rows, arrays["feature"][nodes]] <= arrays["threshold"][nodes]
            nodes = np.where(goes_left, arrays["left"][nodes], arrays["right"][nodes])
        return arrays["gains"][nodes]


def check_columns(columns):
    """Return all input columns with None for each gap; ValueError names a bad row."""
    gaps, checked = [None] * len(columns["area"]), {}
    for name in INPUTS:
        values = columns.get(name, gaps)
        checked[name] = [check_cell(row, name, value) for row, value in enumerate(values)]
    return checked


def check_cell(row, name, value):
    if name != "area" and (value is None or value == "" or value != value):
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in NUMBERS and not (is_number and math.isfinite(value) and value >= 0):
        raise ValueError(f"row {row}: {name}: expected a number from 0, found {value!r:.40}")
    if name in CATEGORIES and not isinstance(value, str):
        raise ValueError(f"row {row}: {name}: expected text, found {value!r:.40}")
    return value


def encode(columns, weights):
    """Return [rows, features]: numbers with a flag for gaps, and one column for each category."""
    features = []
    for name in NUMBERS:
        is_gap = [value is None for value in columns[name]]
        middle = weights["medians"][name]
        features += [[middle if value is None else value for value in columns[name]], is_gap]
    for name in CATEGORIES:
        for known in weights["known"][name]:
            features.append([value == known for value in columns[name]])
    return np.array(features, dtype=float).T
