"""A process that runs trials of one search until none is left; its request is on standard input.

It may be killed at any time: what it worked on is taken up again, from its last checkpoint.
"""

import json
import os
import sys
import time
from pathlib import Path

import optuna

from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.entrypoint import load_params, load_task
from plumbline.evidence.predictors import open_candidate
from plumbline.stages.train import learn
from plumbline.tracking import trial_runs
from plumbline.tuning import sampling, space, studies
from plumbline.tuning.folders import EXAMPLES, PARAMS, enter_trial
from plumbline.tuning.positions import ERROR, find_position
from plumbline.tuning.request import SearchRequest
from plumbline.tuning.trial_log import TrialLog

PAUSE_S = 0.3


def main() -> None:
    """Work until no trial is left, the time is over, or the process that started this is gone."""
    request = SearchRequest(**json.load(sys.stdin))
    params = load_params(Path(request.folder) / PARAMS)
    task = load_task(params.task)
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
    return studies.open_study(
        storage,
        request.study,
        request.direction,
        sampler=sampling.GenerationSampler(request.sampler, params.seed, values, distributions),
        pruner=sampling.GenerationPruner(),
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
    candidate = request.candidate
    if request.winner is None:
        values = space.suggest_values(trial, _build_distributions(request, params))
        seed = params.seed
    else:
        values = dict(request.winner)
        seed = params.seed + trial.suggest_int("repeat", 0, request.num_trials - 1)
    configured = space.configure(params, candidate, values, seed)
    name = name_trial(trial, request)
    folder = Path(request.folder)
    with trial_runs.track_trial(request.tracked, name, candidate) as run_log:
        run_log.log_params({"searched": values})
        log = TrialLog(run_log, trial, candidate, request.metric)
        with enter_trial(folder, name):
            digest = learn(configured, task, candidate, folder / EXAMPLES, log, must_learn=True)
            scores = open_candidate(candidate, task, digest).score_split(task, "validation")
        metrics = {f"validation/{key}": value for key, value in scores.metrics.items()}
        run_log.log_metrics(metrics)
    trial.set_user_attr("metrics", scores.metrics)
    trial.set_user_attr("seconds", time.perf_counter() - start)
    return scores.metrics[request.metric]


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
