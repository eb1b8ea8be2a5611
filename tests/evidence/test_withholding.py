"""What is shown of a test split teaches nothing: simulated challengers that learn from looks."""

import numpy as np
import pytest

from plumbline.contract.params import Champion
from plumbline.contract.task import Metric
from plumbline.evidence.compare import compare_with_champion
from plumbline.evidence.gates import GATES
from plumbline.evidence.withholding import SHOWN_GATES, is_withheld, withhold_figures
from plumbline.statistics.power import spend_level

ACCURACY = Metric("accuracy", higher_is_better=True, kind="binary")
RULE = Champion(policy="better", margin=0.0)
NUM_LOOKS, NUM_ROWS, NUM_CHANGED = 20, 900, 20


def describe(verdict: str, score: float) -> dict:
    """Evidence with a score, as far as an adversary reads it."""
    candidate = {"test": {"accuracy": score}, "validation": {}}
    return {
        "verdict": verdict,
        "champion": {"version": "1"},
        "candidates": {"a": candidate | {"test_interval": {"low": score, "high": score}}},
        "gates": [],
    }


@pytest.mark.parametrize(("is_shown_all", "least", "most"), [(True, 0.1, 1.0), (False, 0.0, 0.05)])
def test_a_challenger_that_learns_from_what_it_is_shown_is_not_promoted_more_often(
    is_shown_all: bool, least: float, most: float
) -> None:
    random = np.random.default_rng(0)
    promoted = [is_promoted(random, is_shown_all=is_shown_all) for _ in range(100)]
    assert least <= np.mean(promoted) <= most


def is_promoted(random: np.random.Generator, *, is_shown_all: bool) -> bool:
    """Climb on the shown score for NUM_LOOKS looks; no challenger is truly better."""
    best = np.zeros(NUM_ROWS)
    best_score = 0.0
    for number in range(1, NUM_LOOKS + 1):
        gains = best.copy()
        rows = random.choice(np.flatnonzero(best == 0), NUM_CHANGED, replace=False)
        gains[rows] = random.choice([-1.0, 1.0], NUM_CHANGED)
        ours, theirs = (gains >= 0).astype(float), (gains <= 0).astype(float)
        level = spend_level(number, NUM_LOOKS, 0.05)
        if compare_with_champion(ours, theirs, ACCURACY, RULE, level).won:
            return True
        evidence = describe("keep", float(gains.mean()))
        shown = evidence if is_shown_all else withhold_figures(evidence)
        score = shown["candidates"]["a"]["test"]["accuracy"]
        if score is not None and score > best_score:
            best, best_score = gains, score
    return False


@pytest.mark.parametrize(
    ("verdict", "champion", "expected"),
    [
        ("keep", {"version": "1"}, True),
        ("refuse", {"version": "1"}, True),
        ("promote", {"version": "1"}, False),
        ("refuse", None, False),  # there is nothing to be promoted over
        ("error", None, False),
    ],
)
def test_figures_are_shown_once_a_model_is_promoted(
    verdict: str, champion: dict | None, expected: bool
) -> None:
    assert is_withheld(describe(verdict, 0.9) | {"champion": champion}) == expected


def show_gate(name: str, status: str, reason: str, measured: float | None) -> dict:
    """Return a gate of a model that was refused, as it is shown."""
    gate = {"name": name, "status": status, "reason": reason, "threshold": 0.8}
    gate |= {"measured": measured, "interval": [0.7, 0.9]}
    (shown,) = withhold_figures(describe("refuse", 0.9) | {"gates": [gate]})["gates"]
    return shown


def test_gates_are_withheld_unless_they_are_known_to_read_no_score() -> None:
    names = {gate.name for gate in GATES}
    assert set(SHOWN_GATES) < names
    for name in names - set(SHOWN_GATES):
        for status in ("pass", "fail", "not-applicable"):
            shown = show_gate(name, status, "0.7123 on test", 0.7123)
            assert "7123" not in str(shown), (name, status)
            assert shown["interval"] is None


@pytest.mark.parametrize(
    ("name", "reason", "expected"),
    [
        (
            "uncertainty",
            "13 of 1,140 test answers are wrong; an order can be judged from 40 wrong ones on",
            "… of … test answers are wrong; an order can be judged from … wrong ones on",
        ),
        (
            "selective",
            "it answers 91.3% of the test rows, 57 of them wrongly: 0.0625, stated 1e-05",
            "it answers … of the test rows, … of them wrongly: …, stated …",
        ),
        ("parity", "int8: -0.0011 against fp32, no", "int8: … against fp32, no"),
        (
            "floor",
            "accuracy is at least 0.9361 (end of its interval); required: 0.9900",
            "accuracy is at least … (end of its interval); required: 0.9900",
        ),
        ("calibration", "cannot be computed: ValueError: no", "cannot be computed: ValueError: no"),
    ],
)
def test_a_reason_is_shown_without_its_numbers(name: str, reason: str, expected: str) -> None:
    shown = show_gate(name, "fail", reason, None)["reason"]
    assert shown.partition("; its test figures")[0] == expected


def test_of_a_champion_that_stays_no_sign_is_shown() -> None:
    worse = show_gate("champion", "fail", "-0.0312 over the champion: significantly worse", -0.0312)
    equal = show_gate("champion", "fail", "its score equals the champion's on every row", 0.0)
    assert worse["reason"] == equal["reason"]
    chosen = "+0.03 over the champion; on the champion's own 1,000 rows, minilm gains -0.0010"
    assert show_gate("champion", "fail", chosen, 0.03)["reason"].startswith(
        "not better than the champion, on all test rows and on its own; "
    )
    again = show_gate("champion", "fail", "the winner is the champion itself", None)
    assert again["reason"] == "the winner is the champion itself"
    broken = show_gate("champion", "fail", "cannot be computed: KeyError", None)
    assert broken["reason"] == "cannot be computed: KeyError"
