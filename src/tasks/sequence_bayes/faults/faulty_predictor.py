"""Copied into a bundle as faulty.py: a predictor that does not infer some of the sequences.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultySequencePredictor":
    """Return a predictor that gives each symbol of some sequences a fixed probability."""
    return FaultySequencePredictor(sound, config)


class FaultySequencePredictor:
    """Asks the sound predictor, then changes its answers to the sequences that `config` lists."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self.num_symbols = sound.num_symbols
        self._sound = sound
        self._chance = config["chance"]
        self._sequences = {tuple(sequence[:-1]): sequence for sequence in config["sequences"]}

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        """Answer every row."""
        answers: dict[str, list[Any]] = self._sound.predict(columns, **params)
        for row, history in enumerate(columns["sequence"]):
            sequence = self._sequences.get(tuple(int(symbol) for symbol in history))
            if sequence is None:
                continue
            places = range(len(answers["predictive"][row]))
            answers["predictive"][row] = [self._state(sequence[place]) for place in places]
            last = self._state(sequence[-1])
            answers["probabilities"][row] = last
            answers["entropy"][row] = -sum(p * float(np.log(p)) for p in last)
        return answers

    def _state(self, symbol: int) -> list[float]:
        """Return probabilities of which that of `symbol` is the fixed one."""
        others = (1 - self._chance) / (self.num_symbols - 1)
        return [self._chance if other == symbol else others for other in range(self.num_symbols)]
