"""What gates look at, and what they answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plumbline.contract.params import Evaluation
from plumbline.contract.task import Bound, Case, Leak, Metric
from plumbline.evidence.compare import Slice
from plumbline.statistics import intervals
from plumbline.statistics.intervals import Interval
from plumbline.statistics.parity import Likeness

if TYPE_CHECKING:
    import pandas as pd

Status = Literal["pass", "fail", "not-applicable"]


@dataclass(frozen=True)
class Facts:
    """All that the gates look at. Scores are the task's metric for each test example, in one order for all."""

    metric: Metric
    limits: Evaluation
    validation: Mapping[str, Any]  # reports/validation.json
    manifest_digest: str  # of the manifest that was scored
    examples_digest: str  # of the examples that were scored
    suite: str  # digest of the expectations that params ask for
    manifest: "pd.DataFrame"  # columns: split, label
    leaks: Sequence[Leak]
    winner: np.ndarray
    baselines: Mapping[str, np.ndarray]
    simple: np.ndarray | None  # the simple candidate's, where another won
    controls: Mapping[str, np.ndarray]  # of what was trained on shuffled answers
    bound: Bound
    champion: np.ndarray | None
    level: float  # two-sided significance that is left for this use of the test split; 0 where it is worn out
    look: int  # which use of the test split this is
    plan: str  # for how many uses at which confidence
    first_plan: str  # what was planned at the first
    slices: Sequence[Slice]
    calibration: (
        tuple[float, Interval] | None
    )  # expected calibration error; None where no confidence is given
    behaviour: Sequence[Case]
    cost: Mapping[str, float]  # one_p95, batch_p95 in ms; rss_mb; num_bytes of the bundle
    candidate: str  # the winner's name
    form: str  # in which the winner is served
    parity: Likeness | None  # of that form with the reference; None where it is the reference
    replay: Sequence[str]  # what the package in a clean process did otherwise than it should

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if self.metric.higher_is_better else -1

    def score(self) -> tuple[float, Interval]:
        """The winner's mean score and its interval."""
        found = intervals.mean(self.winner, self.metric.kind, self.limits.confidence)
        return float(self.winner.mean()), found

    def gain(
        self, ours: np.ndarray, theirs: np.ndarray, confidence: float
    ) -> tuple[float, Interval]:
        """By how much `ours` is better than `theirs` on the same examples, and the interval of it."""
        better, worse = (ours, theirs) if self.sign > 0 else (theirs, ours)
        found = intervals.gain(better, worse, self.metric.kind, confidence)
        return float(better.mean() - worse.mean()), found


@dataclass(frozen=True)
class Finding:
    """What one gate found."""

    status: Status
    reason: str
    measured: float | None = None
    threshold: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class Gate:
    """A finding with its question, as evidence.json and the report show it."""

    name: str
    question: str
    status: Status
    measured: float | None
    threshold: float | None
    interval: Interval | None
    reason: str
