"""A search from its start to its result: workers are started, waited for, and replaced."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean
from typing import IO, Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from plumbline.contract.errors import TrainingError
from plumbline.contract.params import Params
from plumbline.contract.steps import announce, show_share
from plumbline.contract.task import Task
from plumbline.entrypoint import THREADS
from plumbline.stages.train import refuse_unvalidated
from plumbline.tracking import store_location
from plumbline.tracking.delivery import deliver_meanwhile
from plumbline.tuning import space, studies
from plumbline.tuning.folders import STORAGE, lock_search, prepare_search
from plumbline.tuning.request import SearchRequest, find_direction, name_study

BEFORE = "trials_before"
POLL_S = 0.5
MAX_SEED = 2**32

Reporter = Callable[[FrozenTrial, SearchRequest], None]


@dataclass(frozen=True)
class SearchOptions:
    """What a user asks for."""

    num_trials: int
    num_workers: int = 1
    timeout_s: float | None = None
    metric: str = ""
    storage: str = ""
    num_repeats: int = 3  # other seeds with which the winner is trained again


@dataclass(frozen=True)
class SearchResult:
    """What a search found, by the metric that it was for."""

    metric: str
    num_trials: int
    best: float
    shipped: float | None  # the score of what params.yaml says, which a search begins with
    # The mean of the winner with other seeds: the score of the best of n trials had luck.
    mean: float | None
    proposed: dict[str, Any]  # what to write into the candidate


def search(
    params: Params, task: Task[Params], candidate: str, options: SearchOptions, report: Reporter
) -> SearchResult:
    """Run what is left of a search, then repeat its winner; `report` is called at a trial's end.

    The test split is not read. Raises TrainingError where no trial came to its end.
    """
    shipped = space.read_values(params, candidate)
    refuse_unvalidated()
    with lock_search(candidate) as lock, deliver_meanwhile():
        request = _build_request(params, task, candidate, options)
        study = _open_study(request)
        if BEFORE not in study.user_attrs:
            study.set_user_attr(BEFORE, getattr(params.candidates[candidate], "trials", None) or 0)
            study.enqueue_trial(shipped)
        _run_workers(request, study, options.num_workers, lock, report)
        winner = space.round_values(_read_best(study), params, candidate)
        scores: list[float] = []
        if options.num_repeats:
            again = replace(
                request,
                study=f"{request.study}/{json.dumps(winner, sort_keys=True)}"[:500],
                num_trials=1 + options.num_repeats,
                deadline=None,
                winner=winner,
            )
            repeats = _open_study(again)
            for distance in range(again.num_trials):
                repeats.enqueue_trial({"repeat": distance}, skip_if_exists=True)
            _run_workers(again, repeats, options.num_workers, lock, report)
            scores = [score for values, score in _list_scores(repeats) if values["repeat"]]
    trials = studies.list_trials(study)
    changed = {key: value for key, value in winner.items() if shipped[key] != value}
    return SearchResult(
        metric=request.metric,
        num_trials=len(trials),
        best=study.best_value,
        shipped=next(
            (
                score
                for values, score in _list_scores(study)
                if space.round_values(values, params, candidate) == shipped
            ),
            None,
        ),
        mean=mean(scores) if scores else None,
        # Trials of searches before this one, from whose values it began, count too.
        proposed=changed | {"trials": study.user_attrs[BEFORE] + len(trials)},
    )


def _list_scores(study: optuna.Study) -> list[tuple[dict[str, Any], float]]:
    """List the values and the score of each trial that came to its end."""
    scored = []
    for trial in studies.list_trials(study):
        if trial.state == TrialState.COMPLETE and trial.value is not None:
            scored.append((trial.params, trial.value))
    return scored


def _build_request(
    params: Params, task: Task[Params], candidate: str, options: SearchOptions
) -> SearchRequest:
    folder = prepare_search(candidate)
    metric = (options.metric or task.metric.name).removeprefix("validation/")
    name = name_study(params, task, candidate, metric, folder)
    return SearchRequest(
        candidate=candidate,
        study=name,
        storage=options.storage or store_location.name_database(STORAGE.resolve()),
        owner=f"{socket.gethostname()}:{folder}",
        folder=str(folder),
        search=name,
        metric=metric,
        direction=find_direction(metric, task),
        num_trials=options.num_trials,
        deadline=time.time() + options.timeout_s if options.timeout_s else None,
        seed=None if options.storage else params.seed,
    )


def _open_study(request: SearchRequest) -> optuna.Study:
    return optuna.create_study(
        storage=studies.open_storage(request.storage),
        study_name=request.study,
        direction=request.direction,
        load_if_exists=True,
    )


def _read_best(study: optuna.Study) -> dict[str, Any]:
    """Return the values of the best trial; TrainingError where there is none."""
    error = studies.find_first_error(study)
    if error:
        raise TrainingError(f"the first trial, with the values of params.yaml, failed: {error}")
    try:
        return study.best_params
    except ValueError:
        raise TrainingError("no trial came to its end; see what was printed of each") from None


def _run_workers(
    request: SearchRequest,
    study: optuna.Study,
    num_workers: int,
    lock: IO[str],
    report: Reporter,
) -> None:
    """Start workers until all trials are done, or the time is over.

    On the way out, Ctrl-C included, they are killed: the same command takes their trials up again.
    """
    log = Path(request.folder) / "workers.log"
    reported: set[int] = set()
    num_begun = -1
    while True:
        studies.enter_lost_again(study, request.owner)
        is_late = request.deadline is not None and time.time() > request.deadline
        left = 0 if is_late else studies.count_left(study, request.num_trials)
        if left and len(study.get_trials(deepcopy=False)) == num_begun:
            raise TrainingError(f"workers end before their trials do; see {log}")
        num_begun = len(study.get_trials(deepcopy=False))
        workers = []
        for index in range(min(num_workers, left)):
            share = left // num_workers + (index < left % num_workers)
            own = replace(request, share=share)
            workers.append(_start_worker(own, study, index, lock, log))
        title = "trials" if request.winner is None else "trainings with the best values"
        if left:
            announce(f"runs {left} {title}, {len(workers)} at a time")
        try:
            while any(worker.poll() is None for worker in workers):
                _report_ended(study, request, reported, report)
                num_done, num_all = len(reported), request.num_trials
                show_share(f"{num_done} of {num_all} {title}", num_done / num_all)
                time.sleep(POLL_S)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        _report_ended(study, request, reported, report)
        if is_late or not (left or study.get_trials(states=(TrialState.RUNNING,))):
            return
        time.sleep(POLL_S)  # another machine may be at work on the last ones


def _report_ended(
    study: optuna.Study, request: SearchRequest, reported: set[int], report: Reporter
) -> None:
    for trial in studies.list_trials(study):
        if trial.state.is_finished() and trial.number not in reported:
            reported.add(trial.number)
            report(trial, request)


def _start_worker(
    request: SearchRequest, study: optuna.Study, index: int, lock: IO[str], log: Path
) -> subprocess.Popen[str]:
    """Start a worker; Ctrl-C does not reach it, so that it cannot write half of anything.

    Its sampler is seeded by what was tried so far, so that no two draw the same values.
    """
    if request.seed is not None:
        seed = request.seed + 1000 * len(study.get_trials(deepcopy=False)) + index
        request = replace(request, seed=seed % MAX_SEED)
    with log.open("a", encoding="utf-8") as output:
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", "plumbline.tuning.worker", json.dumps(asdict(request))],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            text=True,
            env=THREADS | os.environ,
            process_group=0,
            pass_fds=[lock.fileno()],
        )
    return worker
