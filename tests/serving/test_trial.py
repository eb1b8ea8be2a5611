"""The trial of a canary: how often one that fails, or differs, is taken out of service."""

import random

import pytest

from plumbline.serving.settings import Limits
from plumbline.serving.trial import Trial

LIMIT = Limits.max_disagreement
TRIALS = 50
NUM_ROWS = 2_000  # of each trial
BATCHES = [pytest.param(1, marks=pytest.mark.slow), 8, 64]  # rows of a request


def count_stops(limit: float, actual: float, batch: int, alike: float = 0.0) -> int:
    """Of TRIALS canaries, those stopped within NUM_ROWS rows in requests of `batch` rows.

    The share `actual` of rows differs. With `alike` above 0 the rows of one request are correlated
    by so much.
    """
    dice = random.Random(7)
    stopped = 0
    for _ in range(TRIALS):
        trial = Trial(limit)
        for _ in range(NUM_ROWS // batch):
            share = actual
            if alike:
                weight = (1 - alike) / alike
                share = dice.betavariate(actual * weight, (1 - actual) * weight)
            num_differing = sum(dice.random() < share for _ in range(batch))
            trial.add_answer(batch, num_differing)
            if trial.question:
                stopped += 1
                break
    return stopped


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(
    ("actual", "alike", "stopped"),
    [
        (0.05, 0.0, range(3)),  # 1 % is the level
        (0.19, 0.3, range(3)),
        (LIMIT, 0.2, range(3)),
        (0.45, 0.0, range(48, TRIALS + 1)),
    ],
)
def test_a_canary_that_differs_more_than_the_limit_is_stopped_and_no_other(
    actual: float, alike: float, stopped: range, batch: int
) -> None:
    assert count_stops(LIMIT, actual, batch, alike) in stopped


@pytest.mark.parametrize("num_sound", [0, 156, 10_000])
def test_a_canary_that_begins_to_fail_or_to_differ_is_returned(num_sound: int) -> None:
    failing, differing = Trial(0.1), Trial(0.1)
    for _ in range(num_sound):
        failing.add_answer(1, 0)
        differing.add_answer(1, 0)
    for _ in range(10):
        failing.add_failure()
    for _ in range(30):
        differing.add_answer(1, 1)
    assert failing.verdict == f"failures: 10 of {num_sound + 10} requests"
    assert "answers that differ from the champion's: 30 of" in str(differing.question)
    assert differing.verdict is None


def test_with_a_limit_of_all_rows_a_canary_may_differ_on_all() -> None:
    trial = Trial(1.0)
    for _ in range(1000):
        trial.add_answer(10, 10)
    assert trial.question is None
