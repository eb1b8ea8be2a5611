"""Copied into a bundle as faulty.py: an extractor that is wrong as its config says.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultyExtractor":
    """Return a predictor that answers as `sound`, but for what `config` says."""
    return FaultyExtractor(sound, config)


class FaultyExtractor:
    """Asks the sound predictor about signals backwards in time, or does not answer a frequency."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self._sound = sound
        self._looks_ahead = config["looks_ahead"]
        self._silent_hz = config["silent_hz"]

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        """Answer every row, wrongly where the config says so."""
        if self._looks_ahead:
            backwards = {**columns, "signal": [list(signal)[::-1] for signal in columns["signal"]]}
            answers: dict[str, list[Any]] = self._sound.predict(backwards, **params)
            return answers | {"component": [row[::-1] for row in answers["component"]]}
        answers = self._sound.predict(columns, **params)
        for row, frequency in enumerate(columns["frequency_hz"]):
            if frequency == self._silent_hz:
                answers["component"][row] = [0.0] * len(answers["component"][row])
        return answers
