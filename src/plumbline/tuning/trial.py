"""One trial of a search: values are drawn, a model is trained and scored on validation."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna

from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.trainings import locate_curve, read_curve, read_speed
from plumbline.evidence.predictors import open_bundle
from plumbline.stages.train import learn
from plumbline.tracking import records
from plumbline.tracking.records import RunFacts, RunRecord
from plumbline.tracking.stage_runs import record_end
from plumbline.tuning import space, studies
from plumbline.tuning.folders import EXAMPLES, LOG, open_trial

LOSS = "validation/loss"
STAGE = "tune"


@dataclass(frozen=True)
class Trainer:
    """What all trials of a search have in common."""

    params: Params
    task: Task[Params]
    candidate: str
    folder: Path  # of the search, absolute
    study: str  # its name in the storage, which names its run in MLflow too

    def run_trial(self, trial: optuna.Trial) -> float:
        """Train and score the values of a trial; an error of its own is recorded with it."""
        entry = trial.study.get_trials(deepcopy=False)[trial.number]
        try:
            return self.train(
                f"trial {studies.find_number(entry)}",
                space.suggest_values(trial, self.params, self.candidate),
                self.params.seed,
                lambda: report_epochs(trial, self.candidate, self.task.metric.name),
            )
        except optuna.TrialPruned:
            raise
        except Exception as error:
            trial.set_user_attr(studies.ERROR, f"{type(error).__name__}: {error}"[:500])
            raise

    def train(
        self,
        name: str,
        values: Mapping[str, Any],
        seed: int,
        on_epoch: Callable[[], None] = lambda: None,
    ) -> float:
        """Train by the code of the stage, and score validation by that of evaluate.

        Called again after a kill, it goes on from the last checkpoint. What the stage prints is in
        a file beside the trials.
        """
        candidate, task = self.candidate, self.task
        configured = space.configure(self.params, candidate, values, seed)
        with (
            open_trial(self.folder, name) as own,
            self._track(name, configured, own) as facts,
            (self.folder / LOG).open("a", encoding="utf-8") as log,
        ):
            facts.params["searched"] = dict(values)
            with chdir(own), redirect_stdout(log):
                digest = learn(
                    configured,
                    task,
                    candidate,
                    self.folder / EXAMPLES,
                    must_learn=True,
                    on_epoch=on_epoch,
                )
                on_epoch()  # of the last epoch, where a kill came right after it
                scores = open_bundle(candidate, task, digest).score_split(task, "validation")
                facts.metrics |= read_speed(candidate)
            facts.metrics |= {f"validation/{key}": value for key, value in scores.metrics.items()}
        return scores.metrics[task.metric.name]

    @contextmanager
    def _track(self, name: str, params: Params, folder: Path) -> Iterator[RunFacts]:
        """Record a block as a run of MLflow below that of the search; pruned, it is not failed."""
        config = params.candidates[self.candidate].model_dump(mode="json")
        facts = RunFacts({"candidate": self.candidate, "seed": params.seed} | config)
        facts.params["training"] = params.training.model_dump(mode="json")
        model = params.registry.model
        tags = records.describe_process(STAGE, self.candidate)
        record = RunRecord(name, model, self.study, f"{model} {STAGE} {self.candidate}", tags)

        def describe(_: str) -> RunFacts:
            facts.add_curve(folder / locate_curve(self.candidate))
            return facts

        with record_end(record, describe, optuna.TrialPruned):
            yield facts


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
