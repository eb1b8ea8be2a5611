"""What the gates read, and what they answer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from plumbline.contract import layout
from plumbline.contract.params import TRAINED_FORM, Evaluation
from plumbline.contract.records import Candidate, Scores
from plumbline.contract.task import Metric
from plumbline.evidence import compare
from plumbline.evidence.choice import Choice, measure_spread
from plumbline.evidence.compare import ChampionComparison, Slice
from plumbline.evidence.records import ChampionFacts, DataFacts, RuntimeFacts
from plumbline.evidence.scores import CHAMPION, Kind, ScoreTable, name_answers
from plumbline.evidence.uncertainty import SelectiveAnswers, measure_orderings, measure_selective
from plumbline.statistics import intervals, power
from plumbline.statistics.calibration import CalibrationFinding, measure_calibration
from plumbline.statistics.error_ordering import ErrorOrdering
from plumbline.statistics.intervals import Interval
from plumbline.statistics.parity import VariantParity
from plumbline.statistics.seeds import SeedSpread

Status = Literal["pass", "fail", "not-applicable"]

# A fact is so or not. What must be shown is a claim of the model: the lower end of an interval has
# to pass. What must not be disproved is a doubt of ours: only data that are significantly beyond
# the limit refuse, at `power.DISPROOF_LEVEL`, and too few rows refuse nothing.
Burden = Literal["must hold", "must be shown", "must not be disproved"]


@dataclass(frozen=True)
class GateQuestion:
    """Measurements and limits; what a gate computes of them is computed once, when it is read.

    Scores are arrays [rows]: the task's metric for each test example, in one order for all.
    """

    data: DataFacts
    table: ScoreTable
    known: ChampionFacts | None  # of the champion
    runtime: RuntimeFacts
    limits: Evaluation
    candidates: Sequence[Candidate]  # the winner first, then the best on validation
    choice: Choice  # who won on validation, and why
    named_controls: Sequence[str] = ()  # of params: each must have answered

    @property
    def metric(self) -> Metric:
        """The metric that decides."""
        return self.table.metric

    @property
    def best(self) -> Candidate:
        """The winner."""
        return self.candidates[0]

    @cached_property
    def winner(self) -> np.ndarray:
        """The winner's scores."""
        return self._pick(self.best.test)

    @cached_property
    def simple(self) -> np.ndarray | None:
        """The scores of the simple candidate; None where it won or there is none."""
        for candidate in self.candidates[1:]:
            if candidate.name == self.limits.simple_candidate:
                return self._pick(candidate.test)
        return None

    @cached_property
    def baselines(self) -> Mapping[str, np.ndarray]:
        """The scores of trivial predictors, by name."""
        return self._pick_all("baseline")

    @cached_property
    def controls(self) -> Mapping[str, np.ndarray]:
        """The scores of models that were trained on shuffled answers, by name."""
        named = self._pick_all("control")
        return {name.removeprefix(layout.CONTROL): scores for name, scores in named.items()}

    @cached_property
    def champion(self) -> np.ndarray | None:
        """The champion's scores; None without one."""
        if self.known is None:
            return None
        return self._pick(self.table.scores["champion", CHAMPION, "test"])

    @cached_property
    def seeds(self) -> SeedSpread | None:
        """The spread of the winner's trainings; None where there is one."""
        return measure_spread(self.best, self.metric)

    @cached_property
    def level(self) -> float:
        """Two-sided significance left for this use of the test split; 0 beyond the plan.

        The winner is chosen on validation, but every candidate's test score is shown: one use then
        reads that many answers off the test split, and its reader may take the luckiest. So the
        candidates share the level (Bonferroni).
        """
        limits = self.limits
        level = power.spend_level(
            self.data.look.number, limits.planned_looks, 1 - limits.confidence
        )
        return level / len(self.candidates)

    @cached_property
    def slices(self) -> Sequence[Slice]:
        """Each group compared with the champion; without one, with the best baseline."""
        metric = self.metric.row_metric
        if self.known is None:
            name, _ = self.best_baseline
            reference = self.table.scores["baseline", name, "test"]
        else:
            name, reference = "the champion", self.table.scores["champion", CHAMPION, "test"]
        rows = self.table.get_rows("test")
        ours = self.best.test.per_example[metric.name]
        theirs = reference.per_example[metric.name]
        return compare.compare_slices(rows, ours, name, theirs, metric, self.limits)

    @cached_property
    def calibration(self) -> CalibrationFinding | None:
        """How far confidence is from accuracy; None without a confidence, or without a limit."""
        rows = self.best.test.per_example
        if "confidence" not in rows or self.limits.max_calibration_error is None:
            return None
        hits = rows.get("correct", rows[self.metric.name])
        return measure_calibration(rows["confidence"], hits, self.limits.max_calibration_error)

    @cached_property
    def orderings(self) -> Mapping[str, Mapping[str, ErrorOrdering]]:
        """How the uncertainty of each candidate orders its errors, by kind of uncertainty."""
        confidence = self.limits.confidence
        return {
            candidate.name: measure_orderings(candidate.test, self.metric, confidence)
            for candidate in self.candidates
        }

    @cached_property
    def selective(self) -> SelectiveAnswers | None:
        """Which rows the winner answers; None where the task does not say."""
        best = self.best
        return measure_selective(best.validation, best.test, self.metric, self.limits)

    @cached_property
    def parity(self) -> VariantParity | None:
        """What the served form loses against `fp32`; None where that is served, or is not there."""
        name = name_answers(self.best.name, TRAINED_FORM)
        trained = self.table.select("form").get(name)
        if trained is None:
            return None
        return compare.compare_form(self.best.test, trained, self.metric)

    @cached_property
    def cost(self) -> Mapping[str, float]:
        """What the winner costs to run, and what an answer costs where the task counts that."""
        costs = self.best.test.per_example["cost"] if self.metric.cost_unit else np.zeros(1)
        return {
            **self.runtime.cost[self.best.name],
            "rss_mb": self.runtime.rehearsal["rss_mb"],
            "longest": self.runtime.rehearsal["longest_ms"] or math.nan,
            "answer": float(costs.mean()),
        }

    @cached_property
    def score(self) -> float:
        """The winner's mean score."""
        return float(self.winner.mean())

    @cached_property
    def score_interval(self) -> Interval:
        """The interval of the winner's mean score."""
        return self.estimate_score(self.best.test)

    @cached_property
    def best_baseline(self) -> tuple[str, np.ndarray]:
        """Name and scores of the one with the best mean, of equals the first by name.

        ValueError where the task has none.
        """
        if not self.baselines:
            raise ValueError("the task names no baseline")
        means = {name: float(self.baselines[name].mean()) for name in sorted(self.baselines)}
        best = max(means, key=lambda name: self.metric.sign * means[name])
        return best, self.baselines[best]

    @cached_property
    def champion_comparison(self) -> ChampionComparison | None:
        """The winner against the champion; None without a champion or without significance left."""
        if self.champion is None or self.level == 0:
            return None
        rule, lag = self.limits.champion, self.known.lag if self.known else None
        return compare.compare_with_champion(
            self.winner, self.champion, self.metric, rule, self.level, lag or 0.0, self.seeds
        )

    @property
    def lag(self) -> float | None:
        """By how much the winner is worse than the best champion so far; 0 where it is best.

        Measured losses add up from champion to champion, whatever test split they were measured on.
        None where the champion's is not known.
        """
        if self.champion is None or self.known is None:
            return 0.0
        if self.known.lag is None:
            return None
        ours, theirs = compare.orient_scores(self.winner, self.champion, self.metric)
        return max(0.0, self.known.lag - float(ours.mean() - theirs.mean()))

    def estimate_score(self, scores: Scores) -> Interval:
        """Compute the interval of the mean of `scores`."""
        return intervals.compute_mean_interval(
            self._pick(scores), self.metric.kind, self.limits.confidence
        )

    def _pick(self, scores: Scores) -> np.ndarray:
        return scores.per_example[self.metric.name]

    def _pick_all(self, kind: Kind) -> dict[str, np.ndarray]:
        everyone = self.table.select(kind)
        return {name: self._pick(scores) for name, scores in everyone.items()}


@dataclass(frozen=True)
class Ruling:
    """What one gate decides, and why."""

    status: Status
    reason: str
    measured: float | None = None
    threshold: float | None = None
    interval: Interval | None = None


def name_status(holds: bool) -> Status:
    """Return what a gate says of a claim."""
    return "pass" if holds else "fail"


@dataclass(frozen=True, kw_only=True)
class GateResult(Ruling):
    """A ruling with its question, as evidence.json and the report show it."""

    name: str
    question: str
    burden: Burden
    details: Mapping[str, Any] = field(default_factory=dict)  # keys of evidence.json
