"""What training reports its figures to."""

from typing import Protocol


class TrainingLog(Protocol):
    """Where the figures of a run go; no method raises."""

    def log_params(self, values: dict[str, object]) -> None:
        """Record how the run was set up."""

    def log_metrics(self, values: dict[str, float], step: int) -> None:
        """Record figures at an epoch."""
