"""A process that runs its share of the trials of one search; its request is its argument.

It may be killed at any time: what it worked on is taken up again, from its last checkpoint.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.pruners import BasePruner, MedianPruner, NopPruner
from optuna.samplers import TPESampler
from optuna.trial import FrozenTrial

from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_params, load_task
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.trainings import locate_curve, read_curve, read_speed
from plumbline.evidence.predictors import open_bundle
from plumbline.stages.train import learn
from plumbline.tracking import delivery, records
from plumbline.tracking.records import FAILED, FINISHED, RunFacts, RunRecord
from plumbline.tuning import space, studies
from plumbline.tuning.folders import EXAMPLES, PARAMS, open_trial
from plumbline.tuning.request import SearchRequest

STARTUP = 5  # trials that are drawn at random, and with which the next are compared
WARMUP = 0.2  # share of max_epochs in which no trial is pruned
LOSS = "validation/loss"
STAGE = "tune"


def main() -> None:
    """Run trials until the share is done, the time or the search is over, or its parent is gone."""
    request = SearchRequest(**json.loads(sys.argv[1]))
    params = load_params(Path(request.folder) / PARAMS)
    task = load_task(params.task).configure(params)
    study = optuna.load_study(
        study_name=request.study,
        storage=studies.open_storage(request.storage),
        sampler=TPESampler(seed=request.seed, n_startup_trials=STARTUP, constant_liar=True),
        pruner=_build_pruner(request, params),
    )
    parent = os.getppid()

    def stop_if_over(study: optuna.Study, _: FrozenTrial) -> None:
        if os.getppid() != parent or not studies.count_left(study, request.num_trials):
            study.stop()

    study.optimize(
        lambda trial: _run_trial(trial, request, params, task),
        n_trials=request.share,
        timeout=request.deadline and max(0.0, request.deadline - time.time()),
        catch=(Exception,),
        callbacks=[stop_if_over],
    )


def report_epochs(trial: optuna.Trial, candidate: str, metric: str) -> None:
    """Report every epoch of the learning curve that Optuna does not know of yet.

    A trial that goes on after a kill may have finished an epoch that was not reported. Raises
    TrialPruned at an epoch after which the trial is hopeless.
    """
    entry = trial.study.get_trials(deepcopy=False)[trial.number]
    sign = -1 if trial.study.direction == optuna.study.StudyDirection.MAXIMIZE else 1
    for epoch, metrics in read_curve(locate_curve(candidate)):
        value = metrics.get(f"validation/{metric}", sign * metrics.get(LOSS, float("nan")))
        if epoch in entry.intermediate_values or value != value:
            continue
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned(f"below the median at epoch {epoch}")


def _build_pruner(request: SearchRequest, params: Params) -> BasePruner:
    if request.winner is not None:
        return NopPruner()
    is_searched = "max_epochs" in space.read_space(params, request.candidate)
    max_epochs = getattr(params.candidates[request.candidate], "max_epochs", 0)
    return MedianPruner(STARTUP - 1, 0 if is_searched else int(max_epochs * WARMUP))


def _run_trial(
    trial: optuna.Trial, request: SearchRequest, params: Params, task: Task[Params]
) -> float:
    """Train and score one trial; an error of its own is recorded with it."""
    trial.set_user_attr(studies.OWNER, request.owner)
    try:
        return _train_and_score(trial, request, params, task)
    except optuna.TrialPruned:
        raise
    except Exception as error:
        trial.set_user_attr(studies.ERROR, f"{type(error).__name__}: {error}"[:500])
        raise


def _train_and_score(
    trial: optuna.Trial, request: SearchRequest, params: Params, task: Task[Params]
) -> float:
    """Train by the code of the stage, and score validation by that of evaluate."""
    values, seed = _choose_values(trial, request, params)
    candidate = request.candidate
    configured = space.configure(params, candidate, values, seed)
    number = studies.find_number(trial.study.get_trials(deepcopy=False)[trial.number])
    name = f"trial {number}" if request.winner is None else f"repeat {number}"
    folder = Path(request.folder)

    def report() -> None:
        report_epochs(trial, candidate, request.metric)

    with open_trial(folder, name) as own, _track(request.search, name, configured, own) as facts:
        facts.params["searched"] = values
        with chdir(own):
            digest = learn(
                configured, task, candidate, folder / EXAMPLES, must_learn=True, on_epoch=report
            )
            report()  # the last one, where a worker was killed right after it
            metrics = open_bundle(candidate, task, digest).score_split(task, "validation").metrics
            facts.metrics |= read_speed(candidate)
        facts.metrics |= {f"validation/{key}": value for key, value in metrics.items()}
    if request.metric not in metrics:
        known = ", ".join(metrics)
        raise ParamsError(f"--metric: there is no validation/{request.metric}; known: {known}")
    return metrics[request.metric]


def _choose_values(
    trial: optuna.Trial, request: SearchRequest, params: Params
) -> tuple[dict[str, Any], int]:
    """Return the values and the seed of a trial: those of a repeat differ in the seed alone."""
    if request.winner is None:
        return space.suggest_values(trial, params, request.candidate), params.seed
    repeat = trial.suggest_int("repeat", 0, request.num_trials - 1)
    return dict(request.winner), params.seed + repeat


@contextmanager
def _track(search: str, name: str, params: Params, folder: Path) -> Iterator[RunFacts]:
    """Record a block as a run of MLflow below that of its search, which `plumbline tune` brings.

    One that was killed goes on in its run. After an error it is FAILED, and says why; nothing
    failed where it was pruned.
    """
    (candidate,) = params.candidates
    config = params.candidates[candidate].model_dump(mode="json")
    training = params.training.model_dump(mode="json")
    facts = RunFacts({"candidate": candidate, "seed": params.seed, "training": training} | config)
    facts.add_curve(folder / locate_curve(candidate))
    model = params.registry.model
    above = f"{model} {STAGE} {candidate}"
    tags = records.describe_process(STAGE, candidate)
    started = records.read_clock_ms()
    record = RunRecord(name, STAGE, candidate, model, search, above, tags, started, facts=facts)
    status, reason = FINISHED, ""
    if delivery.is_on():
        record.write()
    try:
        yield facts
    except optuna.TrialPruned as pruned:
        facts.tags["plumbline.pruned"] = str(pruned)
        raise
    except Exception as error:
        status, reason = FAILED, f"{type(error).__name__}: {error}"
        raise
    finally:
        if delivery.is_on():
            record.end(status, facts, reason)


if __name__ == "__main__":
    main()
