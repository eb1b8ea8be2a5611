"""Copied into a bundle as faulty.py: a search whose answers were changed.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultySearch":
    """Return a predictor that changes the answers of `sound` as `config` says."""
    return FaultySearch(sound, config["change"])


class FaultySearch:
    """Answers each query with its passages the other way round, or as the first query ever."""

    def __init__(self, sound: Any, change: str) -> None:
        self.forms = sound.forms
        self._sound = sound
        self._change = change

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        """Answer every row."""
        answers: dict[str, list[Any]] = self._sound.predict(columns, **params)
        if self._change == "same":
            some = self._sound.predict({"query": ["some text"]}, **params)
            return {name: values * len(columns["query"]) for name, values in some.items()}
        answers["ids"] = [row[::-1] for row in answers["ids"]]
        answers["id"] = [row[0] for row in answers["ids"]]
        return answers
