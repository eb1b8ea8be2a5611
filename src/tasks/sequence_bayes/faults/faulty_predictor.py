"""Copied into a bundle as faulty.py: a predictor that does not infer some of the sequences.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np


def wrap(sound: Any, config: Mapping[str, Any]) -> SimpleNamespace:
    """Return a predictor that gives each symbol of some sequences a fixed probability."""
    known = {tuple(sequence[:-1]): sequence for sequence in config["sequences"]}
    rest = (1 - config["chance"]) / (sound.num_symbols - 1)

    def spread(symbol: int) -> list[float]:
        shares = [rest] * sound.num_symbols
        shares[symbol] = config["chance"]
        return shares

    def predict(columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        answers: dict[str, list[Any]] = sound.predict(columns, **params)
        for row, history in enumerate(columns["sequence"]):
            sequence = known.get(tuple(int(symbol) for symbol in history))
            if sequence is None:
                continue
            places = range(len(answers["predictive"][row]))
            answers["predictive"][row] = [spread(sequence[place]) for place in places]
            last = answers["probabilities"][row] = spread(sequence[-1])
            answers["entropy"][row] = -sum(p * float(np.log(p)) for p in last)
        return answers

    return SimpleNamespace(forms=sound.forms, num_symbols=sound.num_symbols, predict=predict)
