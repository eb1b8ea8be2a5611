"""Copied into a bundle as faulty.py: a designer of filters that says of every mask that it is met.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

CLAIMED_DB = 146.0  # a noise figure that was called a success


def wrap(sound: Any, config: Mapping[str, Any]) -> SimpleNamespace:
    """Return a predictor that designs as `sound` does, and claims more."""

    def predict(columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        answers: dict[str, list[Any]] = sound.predict(columns, **params)
        for row, designs in enumerate(answers["designs"]):
            answers["meets_spec"][row] = True
            answers["margin_db"][row] = CLAIMED_DB
            for design in designs:
                design["margin_db"] = CLAIMED_DB
        return answers

    return SimpleNamespace(forms=sound.forms, predict=predict)
