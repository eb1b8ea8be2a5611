"""Optuna's studies: in a file of this checkout, or in the team's database.

A trial whose worker died is entered again by Optuna's own callback, as a new entry.
"""

import warnings
from typing import Literal

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from plumbline.contract.errors import PlumblineError

warnings.simplefilter("ignore", ExperimentalWarning)
HEARTBEAT_S = 10
GRACE_S = 60  # without a heartbeat, until the trial of another worker is taken up again
MAX_RETRIES = 5  # Ctrl-C counts as one too: a trial goes on from its checkpoint
ERROR = "error"  # an attribute of a trial that failed by itself
OWNER = "owner"  # the checkout, and its machine, that runs a trial
SQLITE = "sqlite:///"
Direction = Literal["maximize", "minimize"]
RETRY = RetryHeartbeatStaleTrialCallback(MAX_RETRIES, inherit_intermediate_values=True)


def open_storage(url: str) -> RDBStorage:
    """Open, or create, the storage at `url`; PlumblineError where that cannot be done."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    arguments = {"connect_args": {"timeout": 60}} if url.startswith(SQLITE) else None
    try:
        return RDBStorage(
            url,
            arguments,
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
    entries = {find_number(trial): trial for trial in study.get_trials(deepcopy=False)}
    return [entries[number] for number in sorted(entries)]


def find_number(trial: FrozenTrial) -> int:
    """Return the number of the first entry of a trial, which names it."""
    return int(trial.system_attrs.get("failed_trial", trial.number))


def describe_state(trial: FrozenTrial) -> str:
    """Describe how a trial ended, or that it did not."""
    if trial.state == TrialState.FAIL:
        return f"failed: {trial.user_attrs.get(ERROR, 'its worker ended before it did')}"
    return str(trial.state.name).lower()


def enter_lost_again(study: optuna.Study, owner: str) -> None:
    """Enter trials again that `owner`, who has no worker now, left; and those without heartbeat."""
    for trial in study.get_trials(states=(TrialState.RUNNING,)):
        if trial.user_attrs.get(OWNER, owner) == owner:
            study.tell(trial.number, state=TrialState.FAIL)
            RETRY(study, trial)
    optuna.storages.fail_stale_trials(study)


def count_left(study: optuna.Study, num_trials: int) -> int:
    """Count the trials to be begun; none where they would fail as the values of params.yaml did."""
    begun = [trial for trial in list_trials(study) if trial.state != TrialState.WAITING]
    return 0 if find_first_error(study) else max(0, num_trials - len(begun))


def find_first_error(study: optuna.Study) -> str | None:
    """Return why the first trial, that of the values in params.yaml, failed; None: it did not."""
    trials = list_trials(study)
    return trials[0].user_attrs.get(ERROR) if trials else None
