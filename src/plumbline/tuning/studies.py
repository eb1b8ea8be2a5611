"""Optuna's studies: in a file of this checkout, or in the team's database.

A trial that was killed is entered again by Optuna's own callback, as a new entry.
"""

import warnings

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from plumbline.contract.errors import PlumblineError

warnings.simplefilter("ignore", ExperimentalWarning)
HEARTBEAT_S = 10
GRACE_S = 60  # without a heartbeat, until the trial of another machine is taken up again
MAX_RETRIES = 5  # Ctrl-C counts as one too: a trial goes on from its checkpoint
ERROR = "error"  # an attribute of a trial that failed by itself
RETRY = RetryHeartbeatStaleTrialCallback(MAX_RETRIES, inherit_intermediate_values=True)


def open_storage(url: str) -> RDBStorage:
    """Open, or create, the storage at `url`; PlumblineError where that cannot be done."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        return RDBStorage(
            url,
            heartbeat_interval=HEARTBEAT_S,
            grace_period=GRACE_S,
            heartbeat_stale_trial_callback=RETRY,
        )
    except (SQLAlchemyError, ImportError, RuntimeError, ValueError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise PlumblineError(
            f"--storage: cannot be opened ({reason}); expected sqlite:///FILE or "
            "postgresql://USER@HOST/DATABASE"
        ) from None


def list_trials(study: optuna.Study) -> list[FrozenTrial]:
    """List the last entry of each trial."""
    entries = {find_number(trial): trial for trial in study.get_trials()}
    return [entries[number] for number in sorted(entries)]


def find_number(trial: FrozenTrial) -> int:
    """Return the number of the first entry of a trial, which names it."""
    return int(trial.system_attrs.get("failed_trial", trial.number))


def describe_state(trial: FrozenTrial) -> str:
    """Describe how a trial ended, or that it did not."""
    if trial.state == TrialState.FAIL:
        return f"failed: {trial.user_attrs.get(ERROR, 'it was killed again and again')}"
    return str(trial.state.name).lower()


def enter_lost_again(study: optuna.Study, *, is_shared: bool) -> None:
    """Enter the trials again that Ctrl-C ended; where nobody else runs trials, also after a kill.

    Where others do, Optuna itself enters those again that have no heartbeat.
    """
    for trial in list_trials(study):
        if trial.state == TrialState.RUNNING and not is_shared:
            study.tell(trial.number, state=TrialState.FAIL)
        elif trial.state != TrialState.FAIL or ERROR in trial.user_attrs:
            continue
        RETRY(study, trial)


def count_left(study: optuna.Study, num_trials: int) -> int:
    """Count the trials to be begun; none where they would fail as the values of params.yaml did."""
    begun = [trial for trial in list_trials(study) if trial.state != TrialState.WAITING]
    return 0 if find_first_error(study) else max(0, num_trials - len(begun))


def find_first_error(study: optuna.Study) -> str | None:
    """Return why the first trial, that of the values in params.yaml, failed; None: it did not."""
    trials = list_trials(study)
    return trials[0].user_attrs.get(ERROR) if trials else None
