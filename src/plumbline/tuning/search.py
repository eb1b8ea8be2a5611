"""A search from its start to its result, by Optuna's own loop in this process."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import optuna
from optuna.pruners import MedianPruner
from optuna.samplers import TPESampler
from optuna.trial import FrozenTrial, TrialState

from plumbline.contract.errors import PlumblineError, TrainingError
from plumbline.contract.params import Params
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.process.files import digest_path
from plumbline.stages.train import refuse_unvalidated
from plumbline.tracking import store_location
from plumbline.training.code_digest import digest_code
from plumbline.tuning import space, studies
from plumbline.tuning.folders import EXAMPLES, STORAGE, open_search
from plumbline.tuning.trial import Trainer

BEFORE = "trials_before"
REPEATS = "repeats"
STARTUP = 5  # trials that are drawn at random, and with which the next are compared
WARMUP = 0.2  # share of max_epochs in which no trial is pruned

Reporter = Callable[[str], None]


@dataclass(frozen=True)
class SearchOptions:
    """What a user asks for."""

    num_trials: int
    timeout_s: float | None = None
    storage: str = ""
    num_repeats: int = 3  # other seeds with which the winner is trained again


@dataclass(frozen=True)
class SearchResult:
    """What a search found, in the metric of the task."""

    num_trials: int
    best: float
    shipped: float | None  # the score of what params.yaml says, which a search begins with
    # The mean of the winner with other seeds: the score of the best of n trials had luck.
    mean: float | None
    proposed: dict[str, Any]  # what to write into the candidate


def search(
    params: Params, task: Task[Params], candidate: str, options: SearchOptions, report: Reporter
) -> SearchResult:
    """Run what is left of a search, then repeat its winner; `report` gets a line for each trial.

    After Ctrl-C or a kill, the same call takes the trial up again that was running. The test split
    is not read. Raises TrainingError where no trial came to its end.
    """
    shipped = space.read_values(params, candidate)
    refuse_unvalidated()
    with open_search(candidate) as folder:
        name = _name_study(params, task, candidate, folder)
        trainer = Trainer(params, task, candidate, folder, name)
        study = _open_study(trainer, options)
        if BEFORE not in study.user_attrs:
            study.set_user_attr(BEFORE, getattr(params.candidates[candidate], "trials", None) or 0)
            study.enqueue_trial(shipped)
        _run_trials(trainer, study, options, report)
        winner = space.round_values(_read_best(study), params, candidate)
        scores = _repeat(trainer, study, winner, options.num_repeats, report)

    def has_shipped(trial: FrozenTrial) -> bool:
        values = space.round_values(trial.params, params, candidate)
        return trial.state == TrialState.COMPLETE and values == shipped

    trials = studies.list_trials(study)
    changed = {key: value for key, value in winner.items() if shipped[key] != value}
    return SearchResult(
        num_trials=len(trials),
        best=study.best_value,
        shipped=next((trial.value for trial in trials if has_shipped(trial)), None),
        mean=mean(scores) if scores else None,
        # Trials of searches before this one, from whose values it began, count too.
        proposed=changed | {"trials": study.user_attrs[BEFORE] + len(trials)},
    )


def _name_study(params: Params, task: Task[Params], candidate: str, folder: Path) -> str:
    """Name a study by all that its scores and values follow from.

    The values of keys that are searched are left out: `--apply` changes them, and the study goes
    on. A change of code, data, or of any other value begins another one.
    """
    dimensions = space.read_space(params, candidate)
    facts = {
        "task": task.name,
        "fixed": params.candidates[candidate].model_dump(mode="json", exclude=set(dimensions)),
        "space": {key: dimension.model_dump() for key, dimension in dimensions.items()},
        "training": params.training.model_dump(mode="json"),
        "seed": params.seed,
        "metric": task.metric.name,
        "examples": digest_path(folder / EXAMPLES),
        "code": digest_code(task.name),
    }
    return f"{params.registry.model}/{candidate}/{_compute_digest(facts)[:16]}"


def _compute_digest(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _open_study(trainer: Trainer, options: SearchOptions) -> optuna.Study:
    """Open the study; trials that a kill or Ctrl-C ended are entered again.

    Its sampler is seeded by what was tried so far: continued, it draws no value again.
    """
    study = optuna.create_study(
        storage=studies.open_storage(
            options.storage or store_location.name_database(STORAGE.resolve())
        ),
        study_name=trainer.study,
        direction="maximize" if trainer.task.metric.higher_is_better else "minimize",
        load_if_exists=True,
    )
    seed = None if options.storage else trainer.params.seed + len(study.get_trials(deepcopy=False))
    study.sampler = TPESampler(seed=seed, n_startup_trials=STARTUP, constant_liar=True)
    is_searched = "max_epochs" in space.read_space(trainer.params, trainer.candidate)
    max_epochs = getattr(trainer.params.candidates[trainer.candidate], "max_epochs", 0)
    study.pruner = MedianPruner(STARTUP - 1, 0 if is_searched else int(max_epochs * WARMUP))
    studies.enter_lost_again(study, is_shared=bool(options.storage))
    return study


def _run_trials(
    trainer: Trainer, study: optuna.Study, options: SearchOptions, report: Reporter
) -> None:
    left = studies.count_left(study, options.num_trials)

    def report_end(_: optuna.Study, trial: FrozenTrial) -> None:
        report(_describe_trial(trial, trainer.task.metric.name))
        if not studies.count_left(study, options.num_trials):
            study.stop()

    announce(f"runs {left} trials")
    study.optimize(
        trainer.run_trial,
        n_trials=left,
        timeout=options.timeout_s,
        catch=(Exception,),
        callbacks=[report_end],
    )


def _describe_trial(trial: FrozenTrial, metric: str) -> str:
    """Describe what a trial tried, and how it ended."""
    shown = {key: f"{v:.3g}" if isinstance(v, float) else v for key, v in trial.params.items()}
    values = ", ".join(f"{key} {value}" for key, value in shown.items())
    is_complete = trial.state == TrialState.COMPLETE
    end = f"{metric} {trial.value:.4f}" if is_complete else studies.describe_state(trial)
    return f"trial {studies.find_number(trial)}: {values}: {end}"


def _read_best(study: optuna.Study) -> dict[str, Any]:
    """Return the values of the best trial; TrainingError where there is none."""
    error = studies.find_first_error(study)
    if error:
        raise TrainingError(f"the first trial, with the values of params.yaml, failed: {error}")
    try:
        return study.best_params
    except ValueError:
        raise TrainingError("no trial came to its end; see what was printed of each") from None


def _repeat(
    trainer: Trainer, study: optuna.Study, winner: dict[str, Any], num: int, report: Reporter
) -> list[float]:
    """Train the winner with the next `num` seeds; the study keeps the scores of those at an end."""
    kept = study.user_attrs.get(REPEATS, {})
    scores = dict(kept["scores"]) if kept.get("values") == winner else {}
    # By its values too: the best trial is read again from a study that others may have added to.
    best = f"trial {studies.find_number(study.best_trial)} ({_compute_digest(winner)[:6]})"
    for distance in range(1, num + 1):
        name = f"seed + {distance}"
        try:
            if name not in scores:
                seed = trainer.params.seed + distance
                scores[name] = trainer.train(f"{best} with {name}", winner, seed)
                study.set_user_attr(REPEATS, {"values": winner, "scores": scores})
            report(f"{name}: {trainer.task.metric.name} {scores[name]:.4f}")
        except PlumblineError as error:
            report(f"{name}: failed: {error}")
    return [*scores.values()][:num]
