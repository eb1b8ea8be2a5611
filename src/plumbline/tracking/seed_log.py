"""The log of a training with a seed after the first: metrics in the same run, under its seed."""

from collections.abc import Mapping
from typing import Any

from plumbline.tracking.run_log import RunLog


class SeedLog(RunLog):
    """Logs metrics as `seed/<seed>/<metric>`; parameters and figure are those of the whole run."""

    def __init__(self, log: RunLog, seed: int) -> None:
        super().__init__(log._run, log._file)
        self._seed = seed

    def log_metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Record metrics under the seed."""
        named = {f"seed/{self._seed}/{key}": value for key, value in values.items()}
        super().log_metrics(named, step)

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Record nothing: they are those of the first seed."""

    def draw_learning_curve(self) -> None:
        """Ask for nothing: the figure of the run has the curves of all seeds."""
