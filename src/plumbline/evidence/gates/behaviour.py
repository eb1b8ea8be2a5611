"""Whether the winner knows the obvious: each behavioural test against the share that it requires.

A test whose cases are all that are asked (those that a user wrote down, or one sum over many rows)
has to pass that share of them. Of a sample, other cases would have had another share: such a test
refuses only where the interval of its share ends below. A test with the limit 1 allows no failure
either way.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plumbline.contract.params import Behaviour
from plumbline.contract.records import Case
from plumbline.evidence.gates.question import GateQuestion, Ruling, Status, name_status
from plumbline.statistics.intervals import Interval, compute_proportion_interval
from plumbline.statistics.power import DISPROOF_LEVEL

ROUNDING = 1e-9  # of a product of floats


@dataclass(frozen=True)
class JudgedTest:
    """A behavioural test with what is required of it."""

    case: Case
    required: float  # share of its cases
    interval: Interval | None  # of the share, exact; None: no sample
    status: Status  # not-applicable: so few cases that none could pass, and it would tell nothing

    @property
    def slack(self) -> float:
        """By how much it passes; below 0 it fails."""
        reached = self.interval.high if self.interval else self.share
        return reached - self.required

    @property
    def share(self) -> float:
        """Which share of its cases passed."""
        return self.case.num_passed / self.case.num_cases


def check_behaviour(question: GateQuestion) -> Ruling:
    """Must not be disproved: fail where significantly fewer cases of a test pass than required."""
    if not question.runtime.behaviour:
        raise ValueError("the task has no behavioural case")
    judged = judge_tests(question.runtime.behaviour, question.limits.min_behaviour)
    tests = [test for test in judged if test.status != "not-applicable"]
    if not tests:
        reason = f"none of {len(judged)} tests has enough cases in these data to tell"
        return Ruling("not-applicable", reason)
    worst = min(tests, key=lambda test: test.slack)
    case, required = worst.case, worst.required
    reason = f"{case.name}: {case.num_passed} of {case.num_cases}"
    if worst.interval:
        reason += f", an interval up to {worst.interval.high:.1%}"
    reason += f"; required: {required:.1%} ({case.kind})"
    if len(tests) < len(judged):
        reason += f"; {len(judged) - len(tests)} of {len(judged)} tests have too few cases to tell"
    return Ruling(worst.status, reason, worst.share, required, worst.interval)


def judge_tests(cases: Sequence[Case], limits: Behaviour) -> list[JudgedTest]:
    """Judge every test; those of samples share the level of the gate (Bonferroni)."""
    shares = limits.model_dump()
    num_samples = sum(case.is_sample and case.num_cases > 0 for case in cases)
    level = DISPROOF_LEVEL / max(1, num_samples)
    return [_judge_test(case, shares[case.kind], level) for case in cases]


def describe_tests(question: GateQuestion) -> dict[str, Any]:
    """Describe each test, and how it was judged."""
    tests = []
    for test in judge_tests(question.runtime.behaviour, question.limits.min_behaviour):
        judged = {"required": test.required, "interval": test.interval, "status": test.status}
        tests.append(asdict(test.case) | judged)
    return {"behaviour": tests}


def _judge_test(case: Case, required: float, level: float) -> JudgedTest:
    num_cases = case.num_cases
    if not num_cases:
        return JudgedTest(case, required, None, "not-applicable")
    if not case.is_sample:
        # Rounded down, so that among few no single one decides; at least one, if any is required.
        least = max(math.ceil(required), math.floor(required * num_cases + ROUNDING))
        return JudgedTest(case, least / num_cases, None, name_status(case.num_passed >= least))
    interval = compute_proportion_interval(case.num_passed, num_cases, 1 - 2 * level, "exact")
    if required and (1 - required) ** num_cases >= level:  # the chance that none passes there
        return JudgedTest(case, required, interval, "not-applicable")
    return JudgedTest(case, required, interval, name_status(interval.high >= required))
