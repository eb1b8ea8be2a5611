"""Copied into a bundle as faulty.py: an extractor that looks ahead.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultyExtractor":
    """Return a predictor that answers as `sound` does, of signals backwards in time."""
    return FaultyExtractor(sound)


class FaultyExtractor:
    """Asks the sound predictor about signals backwards in time."""

    def __init__(self, sound: Any) -> None:
        self.forms = sound.forms
        self._sound = sound

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        """Answer every row."""
        backwards = {**columns, "signal": [list(signal)[::-1] for signal in columns["signal"]]}
        answers: dict[str, list[Any]] = self._sound.predict(backwards, **params)
        return answers | {"component": [row[::-1] for row in answers["component"]]}
