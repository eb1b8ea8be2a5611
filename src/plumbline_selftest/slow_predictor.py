"""Copied into a bundle as faulty.py: sound answers, late."""

import time
from collections.abc import Mapping, Sequence
from typing import Any


def wrap(sound: Any, config: Mapping[str, Any]) -> "SlowPredictor":
    """Return a predictor that waits `config["seconds"]` on each call."""
    return SlowPredictor(sound, config["seconds"])


class SlowPredictor:
    """Answers as `sound` does, after some time."""

    def __init__(self, sound: Any, seconds: float) -> None:
        self.forms = sound.forms
        self._sound, self._seconds = sound, seconds

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> Any:
        """Wait, then answer every row."""
        time.sleep(self._seconds)
        return self._sound.predict(columns, **params)
