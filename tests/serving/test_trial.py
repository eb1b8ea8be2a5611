"""The trial of a canary: how often a better, an equal and a worse one is returned."""

import random

import pytest

from plumbline.serving.disagreement_limit import MARGIN, compute_upper_limit
from plumbline.serving.trial import Trial

TRIALS = 50
NUM_ROWS = 2_000  # of each trial
BATCHES = [pytest.param(1, marks=pytest.mark.slow), 8, 64]  # rows of a request


def count_returns(measured: float, actual: float, batch: int, alike: float = 0.0) -> int:
    """Of TRIALS canaries, those returned within NUM_ROWS rows in requests of `batch` rows.

    Evidence measured the share `measured` on 1,000 rows; on live rows `actual` differ. With `alike`
    above 0 the rows of one request are correlated by so much.
    """
    dice = random.Random(7)
    limit = compute_upper_limit(measured, 1000) + MARGIN
    returned = 0
    for _ in range(TRIALS):
        trial = Trial(limit)
        for _ in range(NUM_ROWS // batch):
            share = actual
            if alike:
                weight = (1 - alike) / alike
                share = dice.betavariate(actual * weight, (1 - actual) * weight)
            num_differing = sum(dice.random() < share for _ in range(batch))
            trial.add_answer(batch, num_differing)
            if trial.verdict:
                returned += 1
                break
    return returned


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(
    ("measured", "actual", "alike", "returned"),
    [
        (0.0, 0.005, 0.0, range(3)),  # equal; 1 % is the level
        (0.19, 0.19, 0.0, range(3)),  # better
        (0.19, 0.19, 0.3, range(3)),
        (0.19, compute_upper_limit(0.19, 1000) + MARGIN, 0.2, range(3)),  # at the limit
        (0.0, 0.15, 0.0, range(48, TRIALS + 1)),  # worse
        (0.19, 0.40, 0.0, range(48, TRIALS + 1)),
    ],
)
def test_a_worse_canary_is_returned_and_a_better_or_equal_one_stays(
    measured: float, actual: float, alike: float, returned: range, batch: int
) -> None:
    assert count_returns(measured, actual, batch, alike) in returned


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
    assert "answers that differ from the champion's: 30 of" in str(differing.verdict)


def test_a_canary_that_differs_on_every_row_as_measured_is_not_tested_for_it() -> None:
    trial = Trial(1.0)
    for _ in range(1000):
        trial.add_answer(10, 10)
    assert trial.verdict is None
