"""What a predictor answered while it was scored: kept, checked, and asked again."""

import json
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.records import Candidate, Scores
from plumbline.contract.steps import announce
from plumbline.contract.task import Columns, Predictor, Task
from plumbline.evidence.predictors import GuardedPredictor, score_split
from plumbline.process.files import write_json
from plumbline.registry.package.packaging import describe_package
from plumbline.registry.package.rehearsal import Call, Rehearsal, ask_package


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
    """Package the winner as `register` would, and ask it all again.

    BundleError where its bundle is not, or no longer, the one with this `digest`.
    """
    announce("runs the package alone, in a clean process, on every held-out row")
    folder = layout.locate_bundle(winner.bundle)
    longest = task.scoring.build_longest_input(predictor)
    calls, row_ms = recording.read_calls(), winner.latency_ms["one_p95"]
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        path, package = Path(private, layout.GOLDEN.name), Path(private, "package")
        write_json(path, golden)
        described = describe_package(folder, path, task, Path(private))
        bundle.require_digest(Path(described["artifacts"]["bundle"]), digest, folder)
        return ask_package(package, path, task, digest, calls, longest, row_ms, described)


def _list_rows(answers: dict[str, list[Any]]) -> list[str]:
    rows = zip(*answers.values(), strict=True)
    return [json.dumps(dict(zip(answers, row, strict=True)), default=_convert) for row in rows]


def _convert(value: Any) -> Any:
    return value.tolist()
