"""What a predictor answered while it was scored: kept, checked, and given again."""

import json
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.records import Candidate, Scores
from plumbline.contract.steps import announce
from plumbline.contract.task import Columns, Predictor, Task
from plumbline.evidence.predictors import GuardedPredictor, score_split
from plumbline.process.files import write_json
from plumbline.registry.package.questions import Call
from plumbline.registry.package.rehearsal import Rehearsal, rehearse

TOLERANCE = 1e-4  # of scores that were computed from answers equal within 1e-5


class Recording:
    """The calls in which a candidate answered the test split, and what was wrong with answers.

    The calls are in a temporary file: every candidate is recorded, and only the winner's calls are
    read. With hundreds of classes those of one candidate fill hundreds of megabytes.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []  # broken invariants, on any split
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  closed below
        weakref.finalize(self, self._file.close)

    def add_call(self, columns: Columns, params: Mapping[str, Any], rows: Sequence[str]) -> None:
        """Keep one call: its columns and params, and each row's answer as JSON."""
        self._file.write(json.dumps([dict(columns), dict(params), rows]) + "\n")

    def read_calls(self) -> list[Call]:
        """Read all calls, in their order."""
        self._file.seek(0)
        return [Call(*json.loads(line)) for line in self._file]


class RecordedPredictor:
    """A predictor whose calls are recorded; each answer must keep the invariants of the task."""

    def __init__(
        self,
        predictor: GuardedPredictor,
        check: Callable[..., Sequence[str]],
        recording: Recording,
        split: str,
    ) -> None:
        self._predictor, self._check = predictor, check
        self._recording, self._split = recording, split

    @property
    def forms(self) -> Sequence[str]:
        """The predictor's forms, the served one first."""
        return self._predictor.forms

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        """Answer every row."""
        answers = self._predictor.predict(columns, **params)
        problems = self._check(columns, params, answers)
        self._recording.problems += [f"{self._split}: {problem}" for problem in problems]
        if self._split == "test":
            self._recording.add_call(columns, params, _list_rows(answers))
        return answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)


class ReplayedPredictor:
    """Gives answers that were given before, call by call, whatever is asked."""

    def __init__(self, predictor: Predictor, answers: Sequence[Sequence[str]]) -> None:
        self.forms = predictor.forms
        self._predictor = predictor
        self._answers: Iterator[Sequence[str]] = iter(answers)

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        """Return the answers of the next call."""
        rows = [json.loads(text) for text in next(self._answers)]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)


def score_and_record(
    predictor: GuardedPredictor, split: str, recording: Recording, task: Task[Any]
) -> Scores:
    """Score one split as `GuardedPredictor.score_split` does, and add to `recording`."""
    recorded = RecordedPredictor(predictor, task.scoring.check_answers, recording, split)
    return predictor.guard_scores(lambda: score_split(task, split, recorded))


def rehearse_winner(
    winner: Candidate,
    digest: str,
    predictor: Predictor,
    golden: Mapping[str, Any],
    recording: Recording,
    task: Task[Any],
) -> Rehearsal:
    """Package the winner as `register` would, ask it all again, and score what it answers.

    BundleError where its bundle is not, or no longer, the one with this `digest`.
    """
    announce("runs the package alone, in a clean process, on every held-out row")
    folder = layout.locate_bundle(winner.bundle)
    longest = task.scoring.build_longest_input(predictor)
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        path = Path(private) / layout.GOLDEN.name
        write_json(path, golden)
        row_ms = winner.latency_ms["one_p95"]
        calls = recording.read_calls()
        rehearsal = rehearse(folder, digest, path, task, calls, longest, row_ms)
    bundle.require_digest(folder, digest)
    problems = _compare_scores(winner.test, predictor, rehearsal.answers, task)
    return replace(rehearsal, problems=(*rehearsal.problems, *problems))


def describe_rehearsal(rehearsal: Rehearsal) -> dict[str, Any]:
    """Describe how the packaged winner was asked again: which rows, and how far from all else."""
    return {
        "num_rows": rehearsal.num_rows,
        "num_singles": rehearsal.num_singles,
        "seed": rehearsal.seed,
        "longest_ms": rehearsal.longest_ms,
        "rss_mb": rehearsal.rss_mb,
        "problems": list(rehearsal.problems),
    }


def _compare_scores(
    measured: Scores, predictor: Predictor, answers: Sequence[Sequence[str]], task: Task[Any]
) -> list[str]:
    """Score the answers of the clean process; return a problem where they are worth another score.

    `answers` are those of each call with which the test split was scored.
    """
    replayed = ReplayedPredictor(predictor, answers)
    try:
        again = score_split(task, "test", replayed).per_example[task.metric.name]
    except (LookupError, TypeError, ValueError, StopIteration, PlumblineError) as error:
        return [f"the answers of the packaged model cannot be scored: {error}"]
    before = measured.per_example[task.metric.name]
    if len(again) != len(before):
        return [f"the packaged model answers {len(again)} rows, {len(before)} were scored"]
    wrong = int((~np.isclose(again, before, rtol=TOLERANCE, atol=TOLERANCE)).sum())
    if wrong:
        return [
            f"the answers of the packaged model have another {task.metric.name} on {wrong:,} of "
            f"{len(before):,} test rows: {again.mean():.4f}, and {before.mean():.4f} was measured"
        ]
    return []


def _list_rows(answers: dict[str, list[Any]]) -> list[str]:
    rows = zip(*answers.values(), strict=True)
    return [json.dumps(dict(zip(answers, row, strict=True)), default=_convert) for row in rows]


def _convert(value: Any) -> Any:
    return value.tolist()
