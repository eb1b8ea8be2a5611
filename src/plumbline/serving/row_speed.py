"""How long the model takes for a row, so that a queue can be limited in time."""

import math

MEMORY_S = 1.0  # of work; what was measured before weighs less
MIN_WORK_S = 0.25  # less work than this tells little: a first call is slow, a short one is noisy


class RowSpeed:
    """The smoothed seconds a row: work divided by rows, over the last second or so of work.

    Both are summed before they are divided, so that one slow call of a few rows among many others
    changes little, while a machine that became slower is noticed within that second.
    """

    def __init__(self) -> None:
        self._work_s = 0.0
        self._num_rows = 0.0
        self._row_s = 0.0  # one attribute, since another thread reads it

    def add_call(self, num_rows: int, seconds: float) -> None:
        """Add a call of the model that answered `num_rows` rows in `seconds`."""
        kept = math.exp(-seconds / MEMORY_S)
        self._work_s = kept * self._work_s + seconds
        self._num_rows = kept * self._num_rows + num_rows
        if self._work_s >= MIN_WORK_S:
            self._row_s = self._work_s / self._num_rows

    def estimate_seconds(self, num_rows: int) -> float:
        """Return how long the model will take for `num_rows` rows; 0 while too little is known."""
        return num_rows * self._row_s
