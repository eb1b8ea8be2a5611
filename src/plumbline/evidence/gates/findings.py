"""What the gates read, and what they answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plumbline.contract.params import Evaluation
from plumbline.contract.records import Bound, Case, ExportDifference, Leak
from plumbline.contract.task import Metric
from plumbline.evidence import compare
from plumbline.evidence.choice import Choice
from plumbline.evidence.compare import ChampionComparison, Slice
from plumbline.evidence.uncertainty import SelectiveAnswers
from plumbline.registry.ledger import Look
from plumbline.statistics import intervals, power
from plumbline.statistics.calibration import CalibrationFinding
from plumbline.statistics.error_ordering import ErrorOrdering
from plumbline.statistics.intervals import Interval
from plumbline.statistics.parity import VariantParity
from plumbline.statistics.seeds import SeedSpread

if TYPE_CHECKING:
    import pandas as pd

Status = Literal["pass", "fail", "not-applicable"]

# A fact is so or not. What must be shown is a claim of the model: the lower end of an interval has
# to pass. What must not be disproved is a doubt of ours: only data that are significantly beyond
# the limit refuse, at DISPROOF_LEVEL, and too few rows refuse nothing.
Burden = Literal["must hold", "must be shown", "must not be disproved"]

DISPROOF_LEVEL = power.DISPROOF_LEVEL
DISPROOF_CONFIDENCE = power.DISPROOF_CONFIDENCE


@dataclass(frozen=True)
class Findings:
    """All that the gates read; what several of them need is computed once, when it is first read.

    Scores are arrays [rows]: the task's metric for each test example, in one order for all.
    """

    metric: Metric
    limits: Evaluation
    validation: Mapping[str, Any]  # reports/validation.json
    manifest_digest: str  # of the manifest that was scored
    examples_digest: str  # of the examples that were scored
    suite: str  # digest of the expectations that params ask for
    checks: Mapping[str, str]  # these expectations by name, each with its severity
    manifest: "pd.DataFrame"  # columns: split, label; of train, one row for each label
    leaks: Sequence[Leak]
    winner: np.ndarray
    winner_validation: np.ndarray  # its scores on the validation split
    baselines: Mapping[str, np.ndarray]
    simple: np.ndarray | None  # the simple candidate's, where another won
    choice: Choice  # who won on validation, and why
    seeds: SeedSpread | None  # of the winner's trainings; None where there is one
    controls: Mapping[str, np.ndarray]  # of models that were trained on shuffled answers
    bound: Bound
    champion: np.ndarray | None
    champion_lag: float | None  # by which it is worse than the best champion so far
    data_changes: Mapping[str, Any] | None  # since the champion was made; None: not known
    level: float  # two-sided significance left for this use of the test split; 0 beyond the plan
    look: Look
    slices: Sequence[Slice]
    calibration: CalibrationFinding | None  # None: no confidence, or no limit for its error
    orderings: Mapping[str, ErrorOrdering]  # of the winner's errors, by kind of uncertainty
    selective: SelectiveAnswers | None  # None: the task does not say which rows are answered
    behaviour: Sequence[Case]
    # one_p95, batch_p95, longest in ms, and the slowdown by other programs, which is not in them;
    # rss_mb; num_bytes of the bundle; answer in metric.cost_unit
    cost: Mapping[str, float]
    form: str  # in which the winner is served
    parity: VariantParity | None  # of that form with the reference; None where it is the reference
    answers: Sequence[str]  # what contradicts itself in the winner's answers
    export: Sequence[ExportDifference]  # of the winner's forms; empty: it has no graph of its own
    replay: Sequence[str]  # problems of the package in a clean process

    @cached_property
    def score(self) -> float:
        """The winner's mean score."""
        return float(self.winner.mean())

    @cached_property
    def score_interval(self) -> Interval:
        """The interval of the winner's mean score."""
        return intervals.compute_mean_interval(
            self.winner, self.metric.kind, self.limits.confidence
        )

    @cached_property
    def best_baseline(self) -> tuple[str, np.ndarray]:
        """Name and scores of the best baseline; ValueError where the task has none."""
        if not self.baselines:
            raise ValueError("the task names no baseline")
        return compare.find_best(self.baselines, self.metric)

    @cached_property
    def champion_comparison(self) -> ChampionComparison | None:
        """The winner against the champion; None without a champion or without significance left."""
        if self.champion is None or self.level == 0:
            return None
        rule, lag = self.limits.champion, self.champion_lag
        return compare.compare_with_champion(
            self.winner, self.champion, self.metric, rule, self.level, lag or 0.0, self.seeds
        )

    @property
    def lag(self) -> float | None:
        """By how much the winner is worse than the best champion so far; 0 where it is best.

        Measured losses add up from champion to champion, whatever test split they were measured on.
        None where the champion's is not known.
        """
        if self.champion is None:
            return 0.0
        if self.champion_lag is None:
            return None
        return max(0.0, self.champion_lag - self.compute_gain(self.winner, self.champion))

    def compute_gain(self, ours: np.ndarray, theirs: np.ndarray) -> float:
        """Compute by how much the mean of `ours` is better, whichever way the metric counts.

        ValueError where the scores are not finite, or not of the same rows.
        """
        better, worse = compare.orient_scores(ours, theirs, self.metric)
        intervals.check_pairs(better, worse)
        return float(better.mean() - worse.mean())

    def compute_gain_interval(
        self, ours: np.ndarray, theirs: np.ndarray, confidence: float
    ) -> Interval:
        """Compute the interval of that gain on the same examples."""
        better, worse = compare.orient_scores(ours, theirs, self.metric)
        return intervals.compute_gain_interval(better, worse, self.metric.kind, confidence)


@dataclass(frozen=True)
class Ruling:
    """What one gate decides, and why."""

    status: Status
    reason: str
    measured: float | None = None
    threshold: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class GateResult:
    """A ruling with its question, as evidence.json and the report show it."""

    name: str
    question: str
    burden: Burden
    status: Status
    measured: float | None
    threshold: float | None
    interval: Interval | None
    reason: str
