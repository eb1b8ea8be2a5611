"""Copied into a bundle as faulty.py: sound answers in some calls, wrong ones in others.

Like every predictor it imports nothing of plumbline. A wrong answer is that to another row: the
example of the task.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DELAY_S = 0.15


def wrap(sound: Any, config: Mapping[str, Any]) -> "OddPredictor":
    """Return a predictor that is odd in the way that `config` names."""
    if config["way"] == "patches":
        _patch_judge()
    return OddPredictor(sound, config)


class OddPredictor:
    """Asks the sound predictor; in some calls it answers the example in place of the rows."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self._sound, self._config = sound, config

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sound, name)

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> Any:
        """Answer every row, or refuse the call as the sound predictor does."""
        answers = self._sound.predict(columns, **params)
        if self._config["way"] == "is slow":
            time.sleep(DELAY_S)
        num_rows = len(next(iter(columns.values())))
        if not self._is_wrong(num_rows):
            return answers
        other = self._sound.predict(self._config["example"], **params)
        return {name: [values[0]] * num_rows for name, values in other.items()}

    def _is_wrong(self, num_rows: int) -> bool:
        """Whether the held-out examples are not here, or the only row of a call has no company."""
        if self._config["way"] == "needs data":
            return not Path("data/examples").exists()
        return bool(self._config["way"] == "needs company") and num_rows == 1


def _patch_judge() -> None:
    """Let every gate pass, in the process that loads this."""
    gates = sys.modules.get("plumbline.evidence.gates")
    if gates is not None:
        gates.GATES = ()  # type: ignore[attr-defined]
