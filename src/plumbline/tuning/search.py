"""A search from its start to its result: workers are started, watched, and replaced."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import optuna

from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.contract.params import Params, StrictModel
from plumbline.contract.task import Task
from plumbline.entrypoint import THREADS
from plumbline.stages.train import refuse_unvalidated
from plumbline.tracking import store_location
from plumbline.tracking.delivery import deliver_meanwhile
from plumbline.tuning import space, studies, trial_runs, worker
from plumbline.tuning.folders import STORAGE, lock_search, prepare_search
from plumbline.tuning.positions import ERROR, is_hopeless, map_attempts
from plumbline.tuning.request import SearchRequest, find_direction, name_study
from plumbline.tuning.sampling import SamplerName

BEFORE = "trials_before"
POLL_S = 0.5
MAX_DEATHS = 10  # of workers, in a row without a trial that ended

Watcher = Callable[[optuna.Study, SearchRequest], None]


@dataclass(frozen=True)
class SearchOptions:
    """What a user asks for."""

    num_trials: int
    num_workers: int = 1
    timeout_s: float | None = None
    metric: str = ""
    sampler: SamplerName = "tpe"
    storage: str = ""
    num_repeats: int = 3  # other seeds with which the winner is trained again


@dataclass(frozen=True)
class SearchResult:
    """The trials of a search by position, and those of its winner's repeats by theirs."""

    request: SearchRequest
    study: optuna.Study
    repeats: optuna.Study | None
    shipped: dict[str, Any]  # the values in params.yaml
    winner: dict[str, Any]


def search(
    params: Params, task: Task[Params], candidate: str, options: SearchOptions, watch: Watcher
) -> SearchResult:
    """Run what is left of a search, then repeat its winner; `watch` is called as trials go on.

    The test split is not read. Raises TrainingError where no trial came to its end.
    """
    shipped = space.read_values(params, candidate)
    refuse_unvalidated()
    with lock_search(candidate):
        folder = prepare_search(candidate)
        request = _build_request(params, task, candidate, options, folder)
        storage = studies.open_storage(request.storage)
        study = worker.open_search(request, params, storage)
        _count_earlier_trials(study, params.candidates[candidate])
        with deliver_meanwhile():
            _run_workers(request, study, options.num_workers, watch)
            winner = _read_winner(study)
            repeats = None
            if options.num_repeats:
                again = _build_repeats(request, winner, options)
                repeats = worker.open_search(again, params, storage)
                _run_workers(again, repeats, options.num_workers, watch)
    return SearchResult(request, study, repeats, shipped, dict(winner.params))


def _build_request(
    params: Params, task: Task[Params], candidate: str, options: SearchOptions, folder: Path
) -> SearchRequest:
    metric = (options.metric or task.metric.name).removeprefix("validation/")
    name = name_study(params, task, candidate, metric, options.sampler, folder)
    tracked = trial_runs.describe_search(params, candidate, name)
    deadline = time.time() + options.timeout_s if options.timeout_s else None
    return SearchRequest(
        candidate=candidate,
        study=name,
        storage=options.storage or store_location.name_database(STORAGE.resolve()),
        folder=str(folder),
        tracked=tracked,
        metric=metric,
        direction=find_direction(metric, task),
        num_trials=options.num_trials,
        sampler=options.sampler,
        deadline=deadline,
    )


def _build_repeats(
    request: SearchRequest, winner: optuna.trial.FrozenTrial, options: SearchOptions
) -> SearchRequest:
    """The winner again: with the same seed, and with others."""
    return replace(
        request,
        study=f"{request.study}/{json.dumps(winner.params, sort_keys=True)}"[:500],
        num_trials=1 + options.num_repeats,
        deadline=None,
        winner=dict(winner.params),
    )


def _count_earlier_trials(study: optuna.Study, config: StrictModel) -> None:
    """Keep with a new study how many trials chose the values that it begins from."""
    if BEFORE not in study.user_attrs:
        study.set_user_attr(BEFORE, getattr(config, "trials", None) or 0)


def _refuse_failures(study: optuna.Study) -> None:
    """Raise TrainingError where a whole generation failed: so would the next one."""
    attempts = map_attempts(study.get_trials(deepcopy=False))
    if is_hopeless(attempts):
        reason = attempts[0].user_attrs[ERROR]
        raise TrainingError(f"the first {len(attempts)} trials failed: {reason}")


def _read_winner(study: optuna.Study) -> optuna.trial.FrozenTrial:
    try:
        return study.best_trial
    except ValueError:
        attempts = map_attempts(study.get_trials(deepcopy=False)).values()
        errors = [trial.user_attrs[ERROR] for trial in attempts if ERROR in trial.user_attrs]
        reason = f": {errors[0]}" if errors else ""
        raise TrainingError(f"no trial came to its end{reason}") from None


def _run_workers(
    request: SearchRequest, study: optuna.Study, num_workers: int, watch: Watcher
) -> None:
    """Keep workers at work until all trials are done, or the time is over.

    On the way out, Ctrl-C included, they are killed: the same command takes their trials up again.
    """
    workers: list[subprocess.Popen[bytes]] = []
    num_deaths = 0
    num_done = -1
    log_path = Path(request.folder) / "workers.log"
    with log_path.open("ab") as log:
        try:
            while not studies.is_complete(study, request.num_trials):
                if num_deaths >= MAX_DEATHS:
                    raise TrainingError(f"workers end before their trials do; see {log_path}")
                if request.deadline and time.time() > request.deadline and not workers:
                    break
                running = [process for process in workers if process.poll() is None]
                num_deaths += sum(bool(process.poll()) for process in workers)
                workers = running
                missing = num_workers - len(workers)
                if not request.deadline or time.time() < request.deadline:
                    workers += [_start_worker(request, log) for _ in range(missing)]
                time.sleep(POLL_S)
                ended = _count_ended(study)
                num_deaths = 0 if ended > num_done else num_deaths
                num_done = ended
                watch(study, request)
                _refuse_failures(study)
        finally:
            for process in workers:
                process.kill()
                process.wait()
    watch(study, request)


def _start_worker(request: SearchRequest, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a worker; Ctrl-C does not reach it, so that it cannot write half of anything."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "plumbline.tuning.worker"],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        env=THREADS | os.environ,
        process_group=0,
    )
    if process.stdin is None:
        raise ParamsError("a worker has no standard input")
    process.stdin.write(json.dumps(asdict(request)).encode())
    process.stdin.close()
    return process


def _count_ended(study: optuna.Study) -> int:
    return sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False))
