"""A process that runs trials of one search until none is left; its request is on standard input.

It may be killed at any time: what it worked on is taken up again, from its last checkpoint.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import optuna

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Params
from plumbline.contract.records import Scores
from plumbline.contract.task import Task
from plumbline.contract.trainings import locate_curve, read_speed
from plumbline.entrypoint import load_params, load_task
from plumbline.evidence.predictors import open_candidate
from plumbline.stages.train import learn
from plumbline.tracking.records import RunRecord
from plumbline.tuning import sampling, space, studies, trial_runs
from plumbline.tuning.epoch_reports import report_epochs
from plumbline.tuning.folders import EXAMPLES, PARAMS, enter_trial
from plumbline.tuning.positions import ERROR, find_position
from plumbline.tuning.request import SearchRequest

PAUSE_S = 0.3
WARMUP = 0.2  # share of max_epochs in which no trial is pruned


def main() -> None:
    """Work until no trial is left, the time is over, or the process that started this is gone."""
    request = SearchRequest(**json.load(sys.stdin))
    params = load_params(Path(request.folder) / PARAMS)
    task = load_task(params.task).configure(params)
    storage = studies.open_storage(request.storage)
    study = open_search(request, params, storage)
    parent = os.getppid()
    while os.getppid() == parent and not _is_over(request):
        outcome = studies.run_next(
            storage,
            study,
            request.num_trials,
            lambda trial: _run_trial(trial, request, params, task),
        )
        if outcome is None:
            return
        if not outcome:
            time.sleep(PAUSE_S)


def open_search(
    request: SearchRequest, params: Params, storage: optuna.storages.RDBStorage
) -> optuna.Study:
    """Open the study of a request with the sampler and pruner that every worker has."""
    if request.winner is not None:
        return studies.open_study(
            storage,
            request.study,
            request.direction,
            sampler=sampling.RepeatSampler(),
            pruner=optuna.pruners.NopPruner(),
        )
    values = space.read_values(params, request.candidate)
    dimensions = space.read_space(params, request.candidate)
    distributions = space.build_distributions(dimensions, values)
    max_epochs = getattr(params.candidates[request.candidate], "max_epochs", 0)
    warmup = 0 if "max_epochs" in dimensions else int(max_epochs * WARMUP)
    return studies.open_study(
        storage,
        request.study,
        request.direction,
        sampler=sampling.GenerationSampler(request.sampler, params.seed, values, distributions),
        pruner=sampling.GenerationPruner(warmup),
    )


def _is_over(request: SearchRequest) -> bool:
    return request.deadline is not None and time.time() > request.deadline


def _run_trial(
    trial: optuna.Trial, request: SearchRequest, params: Params, task: Task[Params]
) -> float:
    """Train and score one trial; an error of its own is recorded with it."""
    try:
        return _train_and_score(trial, request, params, task)
    except optuna.TrialPruned:
        raise
    except Exception as error:
        trial.set_user_attr(ERROR, f"{type(error).__name__}: {error}"[:500])
        raise


def _train_and_score(
    trial: optuna.Trial, request: SearchRequest, params: Params, task: Task[Params]
) -> float:
    start = time.perf_counter()
    values, seed = _choose_values(trial, request, params)
    configured = space.configure(params, request.candidate, values, seed)
    name = name_trial(trial, request)
    tracked = trial_runs.track_trial(request.tracked, name, configured, request.candidate)
    with tracked as record:
        record.facts.params["searched"] = values
        metrics: dict[str, float] = {}
        try:
            metrics = _score(trial, configured, task, request, record).metrics
        except optuna.TrialPruned as error:  # nothing failed: the run in MLflow is FINISHED
            record.facts.tags["plumbline.pruned"] = str(error)
        scores = {f"validation/{key}": value for key, value in metrics.items()}
        record.facts.metrics |= scores
    if not metrics:
        raise optuna.TrialPruned
    if request.metric not in metrics:
        known = ", ".join(metrics)
        raise ParamsError(f"--metric: there is no validation/{request.metric}; known: {known}")
    trial.set_user_attr("metrics", metrics)
    trial.set_user_attr("seconds", time.perf_counter() - start)
    return metrics[request.metric]


def _score(
    trial: optuna.Trial,
    params: Params,
    task: Task[Params],
    request: SearchRequest,
    record: RunRecord,
) -> Scores:
    """Train by the code of the stage, and score validation by that of evaluate."""
    folder = Path(request.folder)
    candidate = request.candidate
    curve = record.path.with_suffix(".csv").resolve()

    def report() -> None:
        if request.tracked:
            shutil.copyfile(locate_curve(candidate), curve)
        report_epochs(trial, candidate, request.metric)

    with enter_trial(folder, record.name):
        digest = learn(params, task, candidate, folder / EXAMPLES, must_learn=True, on_epoch=report)
        report()  # the last one, where a worker was killed right after it
        record.facts.metrics |= read_speed(candidate)
        predictor = open_candidate(candidate, task, digest)
        return predictor.score_split(task, "validation")


def _choose_values(
    trial: optuna.Trial, request: SearchRequest, params: Params
) -> tuple[dict[str, Any], int]:
    """Return the values and the seed of a trial: those of a repeat differ in the seed alone."""
    if request.winner is None:
        return space.suggest_values(trial, _build_distributions(request, params)), params.seed
    repeat = trial.suggest_int("repeat", 0, request.num_trials - 1)
    return dict(request.winner), params.seed + repeat


def name_trial(trial: optuna.Trial, request: SearchRequest) -> str:
    """Name a trial by its position, which is the same after a kill."""
    trials = trial.study.get_trials(deepcopy=False)
    entry = next(other for other in trials if other.number == trial.number)
    position = find_position(trials, entry)
    return f"trial {position}" if request.winner is None else f"repeat {position}"


def _build_distributions(
    request: SearchRequest, params: Params
) -> dict[str, optuna.distributions.BaseDistribution]:
    values = space.read_values(params, request.candidate)
    dimensions = space.read_space(params, request.candidate)
    return space.build_distributions(dimensions, values)


if __name__ == "__main__":
    main()
