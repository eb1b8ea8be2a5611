"""What a training reports to Optuna after each epoch, which may stop it."""

from collections.abc import Mapping

from optuna import Trial, TrialPruned
from optuna.study import StudyDirection

from plumbline.contract.trainings import locate_curve, read_curve

LOSS = "validation/loss"


def report_epochs(trial: Trial, candidate: str, metric: str) -> None:
    """Report every epoch of the learning curve that Optuna does not know of yet.

    A trial that goes on after a kill may have finished an epoch that was not reported. Raises
    TrialPruned at an epoch after which the trial is hopeless.
    """
    reported = trial.study.get_trials(deepcopy=False)
    known = next(t for t in reported if t.number == trial.number).intermediate_values
    for epoch, metrics in read_curve(locate_curve(candidate)):
        if epoch in known:
            continue
        value = _choose_value(trial, metrics, metric)
        if value is None:
            return
        trial.report(value, epoch)
        if trial.should_prune():
            raise TrialPruned(f"below the median at epoch {epoch}")


def _choose_value(trial: Trial, metrics: Mapping[str, float], metric: str) -> float | None:
    """Return the metric of an epoch, else its loss, in the direction of the search."""
    named = f"validation/{metric}"
    if named in metrics:
        return metrics[named]
    if LOSS not in metrics:
        return None
    return -metrics[LOSS] if trial.study.direction == StudyDirection.MAXIMIZE else metrics[LOSS]
