"""Copied into a bundle as faulty.py: a policy that stops only where nobody is left to ask.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultyPolicy":
    """Return a predictor that answers as `sound` after it has asked everyone."""
    return FaultyPolicy(sound)


class FaultyPolicy:
    """Asks the sound policy to be sure."""

    def __init__(self, sound: Any) -> None:
        self.forms = sound.forms
        self.agents = sound.agents
        self.costs = sound.costs
        self._sound = sound

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        """Answer every row, whatever the request says about when to stop."""
        answers: dict[str, list[Any]] = self._sound.predict(columns, stop_at=1.0)
        return answers
