"""What a training reports to: its run in MLflow, and Optuna, which may stop it."""

import csv
from collections.abc import Mapping

from optuna import Trial, TrialPruned
from optuna.study import StudyDirection

from plumbline.contract.trainings import locate_curve
from plumbline.tracking.run_log import RunLog

EPOCH = "epoch"
LOSS = "validation/loss"


class TrialLog(RunLog):
    """The log of one trial: at each epoch Optuna may prune it."""

    def __init__(self, log: RunLog, trial: Trial, candidate: str, metric: str) -> None:
        super().__init__(log._run, log._file)
        self._trial = trial
        self._candidate = candidate
        self._metric = f"validation/{metric}"

    def log_metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Record metrics, and raise TrialPruned at an epoch after which the trial is hopeless."""
        super().log_metrics(values, step)
        if LOSS in values or self._metric in values:
            self.report_epochs()

    def report_epochs(self) -> None:
        """Report every epoch of the learning curve that Optuna does not know of yet.

        A trial that goes on after a kill may have finished an epoch that was not reported.
        """
        with locate_curve(self._candidate).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        reported = self._trial.study.get_trials(deepcopy=False)
        known = next(t for t in reported if t.number == self._trial.number).intermediate_values
        for row in rows:
            epoch = int(row[EPOCH])
            if epoch in known:
                continue
            value = self._read_value(row)
            if value is None:
                return
            self._trial.report(value, epoch)
            if self._trial.should_prune():
                raise TrialPruned(f"below the median at epoch {epoch}")

    def _read_value(self, row: Mapping[str, str]) -> float | None:
        """Return the metric of an epoch, else its loss, in the direction of the search."""
        if row.get(self._metric):
            return float(row[self._metric])
        if not row.get(LOSS):
            return None
        loss = float(row[LOSS])
        return -loss if self._trial.study.direction == StudyDirection.MAXIMIZE else loss
