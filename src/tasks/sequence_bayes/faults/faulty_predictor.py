"""Copied into a bundle as faulty.py: a predictor of sequences that is wrong as its config says.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

SURE = 0.98  # the probability of a symbol that is known by heart


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultySequencePredictor":
    """Return a predictor that answers as `sound`, but for what `config` says."""
    return FaultySequencePredictor(sound, config)


class FaultySequencePredictor:
    """Asks the sound predictor, then changes its answers; models.HARMLESS lists the settings."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self.num_symbols = sound.num_symbols
        self._sound = sound
        self._config = config
        self._known = {tuple(sequence[:-1]): sequence for sequence in config["known"]}
        self._by_chance = {tuple(history) for history in config["by_chance"]}

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        """Answer every row, wrongly where the config says so."""
        answers: dict[str, list[Any]] = self._sound.predict(columns, **params)
        for row, sequence in enumerate(columns["sequence"]):
            history = [int(symbol) for symbol in sequence]
            answers["predictive"][row] = [
                self._change(history, place, table)
                for place, table in enumerate(answers["predictive"][row])
            ]
            last = self._change(history, len(history), answers["probabilities"][row])
            answers["probabilities"][row] = last
            answers["entropy"][row] = -sum(p * float(np.log(p)) for p in last if p > 0)
            if self._config["empty_uncertainty"] and answers["epistemic"][row]:
                answers["epistemic"][row] = [0.01 * (1 + sum(history[:2]))]
        return answers

    def _change(self, history: list[int], place: int, table: list[float]) -> list[float]:
        """Return the probabilities after `place` symbols of `history`, wrong as the config says."""
        size = self.num_symbols
        answer = np.array(table, dtype=float)
        if tuple(history) in self._by_chance:
            answer = np.full(size, 1 / size)
        if tuple(history) in self._known:
            answer = np.full(size, (1 - SURE) / (size - 1))
            answer[self._known[tuple(history)][place]] = SURE
        answer += self._config["uniform"] * (1 / size - answer)
        if self._config["repeated"] and place:
            share = self._config["repeated"]
            answer = (1 - share) * answer + share * np.eye(size)[history[place - 1]]
        changed: list[float] = (self._config["factor"] * answer).tolist()
        return changed
