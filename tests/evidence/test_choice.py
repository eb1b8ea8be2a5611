"""The winner is the leader on validation where it is significantly better than the simple one."""

from typing import Any

import numpy as np
import pytest
from tests.support.small_texts import LIMITS

from plumbline.contract.records import Candidate, Scores
from plumbline.contract.task import Metric
from plumbline.evidence.choice import choose

ACCURACY = Metric("accuracy", higher_is_better=True, kind="binary")
ERROR = Metric("accuracy", higher_is_better=False, kind="continuous")


def hits(share: float, rows: int = 800) -> np.ndarray:
    return (np.arange(rows) < share * rows).astype(float)


def candidate(name: str, scores: np.ndarray, cost: float = 0.0, num_bytes: int = 1) -> Candidate:
    """A candidate with these scores on validation, and none on test: it has no say."""
    validation = Scores({"accuracy": scores}, {"accuracy": scores.mean(), "cost": cost})
    return Candidate(name, validation, Scores({}, {}), None, {}, num_bytes)


def choose_among(scores: dict[str, np.ndarray], metric: Metric, limits: Any, **costs: float) -> Any:
    return choose(
        [candidate(name, rows, costs.get(name, 0.0)) for name, rows in scores.items()],
        metric,
        limits,
    )


def test_of_equals_the_smaller_bundle_leads() -> None:
    same = [candidate("big", hits(0.9), num_bytes=2), candidate("small", hits(0.9))]
    assert choose(same, ACCURACY, LIMITS).ranking == ("small", "big")


@pytest.mark.parametrize(
    ("minilm", "linear", "winner", "words"),
    [
        (hits(0.96), hits(0.90), "minilm", "is +0.0600 better than linear"),
        (hits(0.996), hits(0.9925), "linear", "not significantly, so linear is the winner"),
        (hits(0.88, 100), hits(0.81, 100)[::-1], "minilm", "linear does not reach the floor"),
    ],
    ids=["significantly better", "all are excellent", "the simple one is below the floor"],
)
def test_a_leader_wins_where_it_is_significantly_better_than_the_simple_one(
    minilm: np.ndarray, linear: np.ndarray, winner: str, words: str
) -> None:
    choice = choose_among({"minilm": minilm, "linear": linear}, ACCURACY, LIMITS)
    assert (choice.winner, choice.ranking) == (winner, ("minilm", "linear"))
    assert words in choice.reason


def test_where_less_is_better_a_smaller_error_leads() -> None:
    noise = np.random.default_rng(0).uniform(0, 0.1, 300)
    limits = LIMITS.model_copy(update={"simple_candidate": "fir", "floor": 2.0})
    close = {"film": 1.0 + noise, "fir": 1.001 + noise[::-1]}
    assert choose_among(close, ERROR, limits).winner == "fir"
    better = {"film": 0.5 + noise, "fir": 1.0 + noise[::-1]}
    assert choose_among(better, ERROR, limits).winner == "film"


DOLLARS = Metric("accuracy", higher_is_better=True, kind="binary", cost_unit="$")


def test_of_those_that_do_not_differ_significantly_the_cheapest_wins() -> None:
    scores = {"plurality": hits(0.98), "logit": hits(0.97), "cheap": hits(0.80)}
    costs = {"plurality": 0.03, "logit": 0.011, "cheap": 0.001}
    limits = LIMITS.model_copy(update={"simple_candidate": None, "confidence": 0.9999})
    choice = choose_among(scores, DOLLARS, limits, **costs)
    assert choice.winner == "logit"
    assert "logit costs least (0.011 $ an answer, plurality 0.03)" in choice.reason
    assert choose_among(scores, ACCURACY, limits).winner == "plurality"


def test_a_cheap_candidate_below_the_floor_does_not_lead() -> None:
    scores = {"set": hits(0.94, 150), "cheap": hits(0.88, 150)[::-1]}
    costs = {"set": 0.03, "cheap": 0.001}
    limits = LIMITS.model_copy(update={"simple_candidate": None, "floor": 0.87})
    choice = choose_among(scores, DOLLARS, limits, **costs)
    assert (choice.winner, choice.reason) == (
        "set",
        "set is the best on validation, at 0.03 $ an answer",
    )
    low = limits.model_copy(update={"floor": 0.8})
    assert choose_among(scores, DOLLARS, low, **costs).winner == "cheap"
    high = limits.model_copy(update={"floor": 0.99})
    assert choose_among(scores, DOLLARS, high, **costs).winner == "set"


def test_the_simple_candidate_replaces_no_cheaper_one() -> None:
    scores = {"logit": hits(0.97), "linear": hits(0.968)}
    dear = choose_among(scores, DOLLARS, LIMITS, logit=0.01, linear=0.02)
    assert dear.winner == "logit"
    cheap = choose_among(scores, DOLLARS, LIMITS, logit=0.02, linear=0.01)
    assert cheap.winner == "linear"


def test_the_best_of_several_needs_more_than_the_best_of_two() -> None:
    random = np.random.default_rng(0)
    num_won = 0
    for _ in range(200):
        names = ("linear", "a", "b", "c", "d")
        scores = {name: (random.random(800) < 0.9).astype(float) for name in names}
        choice = choose_among(scores, ACCURACY, LIMITS)
        num_won += choice.winner != "linear"
    assert num_won / 200 < 0.05
