"""Copied into a bundle as faulty.py: an extractor that is wrong as its config says.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultyExtractor":
    """Return a predictor that answers as `sound`, but for what `config` says."""
    return FaultyExtractor(sound, config)


class FaultyExtractor:
    """Asks the sound predictor, then changes its answers; models.HARMLESS lists the settings."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self._sound = sound
        self._looks_ahead = config["looks_ahead"]
        self._factors = {hertz: float(factor) for hertz, factor in config["factors"]}
        self._answers = {}
        for signal, frequency, component in config["answers"]:
            self._answers[tuple(signal), frequency] = component

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        """Answer every row, wrongly where the config says so."""
        if self._looks_ahead:
            backwards = {**columns, "signal": [list(signal)[::-1] for signal in columns["signal"]]}
            answers: dict[str, list[Any]] = self._sound.predict(backwards, **params)
            return answers | {"component": [row[::-1] for row in answers["component"]]}
        answers = self._sound.predict(columns, **params)
        asked = zip(columns["signal"], columns["frequency_hz"], strict=True)
        for row, (signal, frequency) in enumerate(asked):
            known = self._answers.get((tuple(signal), frequency))
            if known is not None:
                answers["component"][row] = known
            if frequency in self._factors:
                component = answers["component"][row]
                answers["component"][row] = [
                    self._factors[frequency] * sample for sample in component
                ]
        return answers
