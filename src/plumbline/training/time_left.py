"""How far a training is over all its epochs, and how long the rest takes."""

import time


class TimeLeft:
    """Counts steps, and between epochs the time of validation, of which one comes before the first.

    Early stopping may end a training sooner than it says.
    """

    def __init__(self, max_epochs: int, num_epochs_done: int) -> None:
        self.max_epochs = max_epochs
        self.epoch = num_epochs_done + 1
        self.begin = self._last = time.monotonic()
        self.share = num_epochs_done / max_epochs  # of all steps that are done
        self._is_between = True  # two epochs, or before the first one
        self._pause = self._seconds = 0.0
        self._num_steps = 0
        self.seconds_left: float | None = None  # None where nothing is known yet

    def count_step(self, batch: int, num_batches: int, now: float | None = None) -> None:
        """Take the time of a step, the `batch`-th of its epoch."""
        now = time.monotonic() if now is None else now
        if self._is_between:
            self._pause = now - self._last
        else:
            self._seconds += now - self._last
            self._num_steps += 1
        self._is_between, self._last = False, now
        num_later = self.max_epochs - self.epoch
        self.share = (self.epoch - 1 + batch / num_batches) / self.max_epochs
        if self._num_steps:
            steps = num_batches - batch + num_later * num_batches
            per_step = self._seconds / self._num_steps
            self.seconds_left = per_step * steps + self._pause * (1 + num_later)

    def count_epoch(self) -> None:
        """Go on to the next epoch."""
        self._is_between = True
        self.epoch = min(self.epoch + 1, self.max_epochs)
