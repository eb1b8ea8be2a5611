"""Predictors under evaluation: they may raise anything, and the error must name them."""

import json
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.answers import NOT_FINITE, find_not_finite
from plumbline.contract.errors import PlumblineError
from plumbline.contract.records import Scores
from plumbline.contract.task import Columns, Predictor, Task
from plumbline.contract.trainings import name_candidate
from plumbline.evidence.champion import ChampionModel
from plumbline.registry.package.clean_process import list_rows
from plumbline.registry.package.rehearsal import Call

LABEL_FIELD = "label"  # of an output, at any depth


class GuardedPredictor:
    """A predictor whose errors name it and its remedy."""

    def __init__(
        self,
        name: str,
        remedy: str,
        load: Callable[[], Predictor],
        renames: Mapping[str, str] | None = None,
    ) -> None:
        """Call `load`; answers have the new names of `renames`, which maps old names of classes."""
        self._name = name
        self._remedy = remedy
        self._renames = renames
        self._record: Callable[[Columns, Mapping[str, Any], dict[str, Any]], None] | None = None
        with self.guard():
            self._predictor = load()

    @property
    def forms(self) -> Sequence[str]:
        """The predictor's forms, the served one first."""
        return self._predictor.forms

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        """Answer every row; PlumblineError where the predictor fails."""
        with self.guard():
            answers = self._predictor.predict(columns, **params)
            if self._record is not None:
                self._record(columns, params, answers)
            return _rename(answers, self._renames) if self._renames else answers

    def score_split(
        self, task: Task[Any], split: str, recording: "Recording | None" = None
    ) -> Scores:
        """Score one split, and add what is answered to `recording`.

        PlumblineError where an answer breaks the task's signature.
        """
        if recording is not None:
            self._record = partial(recording.add_call, task.scoring.check_answers, split)
        try:
            with self.guard():
                return score_split(task, split, self)
        finally:
            self._record = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Turn what is raised inside the block into an error that names the predictor.

        A PlumblineError says what to do already: of the bundle, of the data, or by an inner guard.
        """
        try:
            yield
        except PlumblineError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise PlumblineError(
                f"{self._name} cannot be scored ({reason}); {self._remedy}"
            ) from error


class Recording:
    """The calls in which a candidate answered the test split, and what was wrong with answers.

    The calls are in a temporary file: every candidate is recorded, and only the winner's calls are
    read. With hundreds of classes those of one candidate fill hundreds of megabytes.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []  # broken invariants, on any split
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  closed below
        weakref.finalize(self, self._file.close)

    def add_call(
        self,
        check: Callable[..., Sequence[str]],
        split: str,
        columns: Columns,
        params: Mapping[str, Any],
        answers: dict[str, list[Any]],
    ) -> None:
        """Keep what `check` finds, and of the test split the call: each row's answer is JSON.

        ValueError where an answer is NaN or infinity.
        """
        for row, column in find_not_finite(answers).items():
            raise ValueError(f"{NOT_FINITE} in {column} of row {row} of a batch of {split}")
        self.problems += [f"{split}: {problem}" for problem in check(columns, params, answers)]
        if split == "test":
            rows = list_rows(answers)
            self._file.write(json.dumps([dict(columns), dict(params), rows]) + "\n")

    def read_calls(self) -> list[Call]:
        """Read all calls, in their order."""
        self._file.seek(0)
        return [Call(*json.loads(line)) for line in self._file]


def open_bundle(
    name: str, task: Task[Any], digest: str, form: str | None = None
) -> GuardedPredictor:
    """Load models/<name>/, of a candidate or of one that was trained on shuffled answers.

    It answers in `form`, or in the form that is served. BundleError, before anything of it is run,
    where its seal is broken, its predictor is not that of the task, or its digest is not `digest`.
    """
    if layout.is_control(name):
        candidate = name.removeprefix(layout.CONTROL)
        title, remedy = f"control {candidate}", f"train it again (dvc repro -f control@{candidate})"
    else:
        title = f"candidate {name} in {form}" if form else f"candidate {name}"
        stage = f"train@{name_candidate(name)}"
        remedy = f"train it again (dvc repro -f {stage}) or take it out of params.yaml"
    folder = layout.locate_bundle(name)

    def load() -> Predictor:
        return bundle.load(folder, form, digest, task)

    return GuardedPredictor(title, remedy, load)


def guard_champion(champion: ChampionModel) -> GuardedPredictor:
    """Guard the champion's predictor, which is loaded already.

    It answers a class that was renamed by its new name: else it would be wrong on every row of it.
    """
    title = f"champion (version {champion.version})"
    remedy = f"`plumbline rollback {champion.model}` brings back the one before"
    return GuardedPredictor(title, remedy, lambda: champion.predictor, champion.renames)


def score_split(task: Task[Any], split: str, predictor: Predictor) -> Scores:
    """Score one split; ValueError where a metric is missing, not finite or not what it says."""
    scores = task.score(layout.EXAMPLES, split, predictor)
    metric = task.metric
    values = scores.per_example[metric.name]
    means = list(scores.metrics.values())
    if not np.isfinite(values).all() or not np.isfinite(means).all():
        raise ValueError(f"a score on the {split} split is not a finite number")
    if metric.kind == "binary" and not np.isin(values, (0, 1)).all():
        raise ValueError(f"{metric.name} must be 0 or 1, and on the {split} split it is not")
    if not np.isclose(values.mean(), scores.metrics[metric.name]):
        raise ValueError(f"{metric.name} on the {split} split is not the mean of its examples")
    if metric.cost_unit:
        _check_cost(scores, split)
    return scores


def _check_cost(scores: Scores, split: str) -> None:
    """ValueError where a cost is not finite or negative, or the mean is not that of the rows."""
    costs = scores.per_example["cost"]
    if not np.isfinite(costs).all() or (costs < 0).any():
        raise ValueError(f"a cost on the {split} split is not a finite number from 0")
    if not np.isclose(costs.mean(), scores.metrics["cost"]):
        raise ValueError(f"cost on the {split} split is not the mean of its examples")


def _rename(value: Any, renames: Mapping[str, str], is_label: bool = False) -> Any:
    """Return answers with the labels in them, at any depth, by their new names."""
    if isinstance(value, Mapping):
        return {name: _rename(inner, renames, name == LABEL_FIELD) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rename(inner, renames, is_label) for inner in value]
    return renames.get(value, value) if is_label and isinstance(value, str) else value
