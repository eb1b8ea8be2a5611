"""The studies of searches in Optuna's storage: SQLite in this checkout, or the team's database."""

import contextlib
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from plumbline.contract.errors import PlumblineError
from plumbline.process.locks import hold
from plumbline.tracking.processes import identify_process, is_running
from plumbline.tuning.positions import is_final, is_hopeless, is_lost, is_startable, map_attempts

HEARTBEAT_S = 10
OPEN_PAUSES_S = (0, 0.5, 2)
GRACE_S = 60  # without a heartbeat, until the trial of another machine is taken up again
WORKER = "worker"  # the process that runs a trial
LOCK_ID = 7_146_205  # of PostgreSQL's advisory locks
SQLITE = "sqlite:///"
Direction = Literal["maximize", "minimize"]


def open_storage(url: str) -> RDBStorage:
    """Open, or create, the storage at `url`; PlumblineError where that cannot be done.

    Of two processes that create it at once, one fails, and tries again.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if url.startswith(SQLITE):
        Path(url.removeprefix(SQLITE)).parent.mkdir(parents=True, exist_ok=True)
    problem: Exception | None = None
    for pause in OPEN_PAUSES_S:
        time.sleep(pause)
        try:
            return _open_once(url)
        except (SQLAlchemyError, ImportError, RuntimeError, ValueError) as error:
            problem = error
    reason = str(getattr(problem, "orig", None) or problem).splitlines()[0]
    raise PlumblineError(
        f"--storage: cannot be opened ({reason}); expected sqlite:///FILE or "
        "postgresql://USER@HOST/DATABASE"
    )


def open_study(storage: RDBStorage, name: str, direction: Direction, **kinds: Any) -> optuna.Study:
    """Open, or create, a study; `kinds` are its sampler and pruner."""
    with lock_storage(storage):
        return optuna.create_study(
            storage=storage, study_name=name, direction=direction, load_if_exists=True, **kinds
        )


def run_next(
    storage: RDBStorage,
    study: optuna.Study,
    num_trials: int,
    objective: Callable[[optuna.Trial], float],
) -> bool | None:
    """Run the next trial; None where none is left, False where one has to be waited for.

    A trial is asked for under the storage's lock, so that its values follow from its position.
    """
    lock = contextlib.ExitStack()
    with lock:
        lock.enter_context(lock_storage(storage))
        take_up_lost(study)
        attempts = map_attempts(study.get_trials(deepcopy=False))
        if is_hopeless(attempts):
            return None
        is_waiting = any(trial.state == TrialState.WAITING for trial in attempts.values())
        if not is_waiting and len(attempts) >= num_trials:
            return None if is_complete(study, num_trials) else False
        if not is_waiting and not is_startable(attempts, len(attempts)):
            return False

        def run(trial: optuna.Trial) -> float:
            trial.set_user_attr(WORKER, [socket.gethostname(), identify_process(os.getpid())])
            lock.close()
            return objective(trial)

        study.optimize(run, n_trials=1, catch=(Exception,))
    return True


def is_complete(study: optuna.Study, num_trials: int) -> bool:
    """Whether nothing is left to do."""
    attempts = map_attempts(study.get_trials(deepcopy=False))
    return len(attempts) >= num_trials and all(map(is_final, attempts.values()))


def take_up_lost(study: optuna.Study) -> None:
    """Enter the trials of dead workers again; for whoever holds the storage's lock.

    Optuna itself fails those without a heartbeat: the workers of other machines.
    """
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if _is_orphan(trial):
            study.tell(trial.number, state=TrialState.FAIL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)
        enter_again = RetryHeartbeatStaleTrialCallback(inherit_intermediate_values=True)
    for trial in map_attempts(study.get_trials()).values():
        if is_lost(trial):
            enter_again(study, trial)


@contextmanager
def lock_storage(storage: RDBStorage) -> Iterator[None]:
    """Hold a lock that ends with this process: of the file, or an advisory one of PostgreSQL."""
    if storage.url.startswith(SQLITE):
        with Path(f"{storage.url.removeprefix(SQLITE)}.lock").open("a") as file:
            hold(file)
            yield
        return
    with storage.engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:id)"), {"id": LOCK_ID})
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:id)"), {"id": LOCK_ID})


def _open_once(url: str) -> RDBStorage:
    arguments = {"connect_args": {"timeout": 60}} if url.startswith(SQLITE) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return RDBStorage(url, arguments, heartbeat_interval=HEARTBEAT_S, grace_period=GRACE_S)


def _is_orphan(trial: FrozenTrial) -> bool:
    """Whether the worker of a running trial was a process of this machine, and is gone.

    Who asked for a trial names itself before it gives the lock back.
    """
    host, process = trial.user_attrs.get(WORKER, (socket.gethostname(), ""))
    return host == socket.gethostname() and not is_running(process)
