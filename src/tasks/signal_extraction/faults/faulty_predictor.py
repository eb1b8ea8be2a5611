"""Copied into a bundle as faulty.py: an extractor that looks ahead.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any


def wrap(sound: Any, config: Mapping[str, Any]) -> SimpleNamespace:
    """Return a predictor that answers as `sound` does, of signals backwards in time."""

    def predict(columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        backwards = {**columns, "signal": [list(signal)[::-1] for signal in columns["signal"]]}
        answers: dict[str, list[Any]] = sound.predict(backwards, **params)
        return answers | {"component": [row[::-1] for row in answers["component"]]}

    return SimpleNamespace(forms=sound.forms, predict=predict)
