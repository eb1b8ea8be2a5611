"""The trial of a canary: how often a better, an equal and a worse one is returned."""

import random

import pytest

from plumbline.serving.disagreement_limit import MARGIN, compute_upper_limit
from plumbline.serving.trial import Sprt, Trial

TRIALS = 50
NUM_ROWS = 2_000  # of each trial
BATCHES = (1, 8, 64)


def count_returns(measured: float, actual: float, batch: int, alike: float = 0.0) -> int:
    """Of TRIALS canaries, those returned within NUM_ROWS rows in requests of `batch` rows.

    Evidence measured the share `measured` on 1,000 rows; on live rows `actual` differ. With `alike`
    above 0 the rows of one request are correlated by so much.
    """
    dice = random.Random(7)
    limit = compute_upper_limit(measured, 1000) + MARGIN
    returned = 0
    for _ in range(TRIALS):
        trial = Trial(limit, 2.0)
        for _ in range(NUM_ROWS // batch):
            share = actual
            if alike:
                weight = (1 - alike) / alike
                share = dice.betavariate(actual * weight, (1 - actual) * weight)
            num_differing = sum(dice.random() < share for _ in range(batch))
            trial.add_answer(batch, num_differing, slow=dice.random() < 0.1)
            if trial.verdict:
                returned += 1
                break
    return returned


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("alike", [0.0, 0.3])
def test_a_better_canary_that_differs_as_measured_stays(batch: int, alike: float) -> None:
    assert count_returns(0.19, 0.19, batch, alike) <= 2  # 1 % is the level


@pytest.mark.parametrize("batch", BATCHES)
def test_an_equal_canary_stays(batch: int) -> None:
    assert count_returns(0.0, 0.005, batch) <= 2


@pytest.mark.parametrize("batch", BATCHES)
def test_a_share_at_the_limit_is_returned_no_more_often_than_the_level_says(batch: int) -> None:
    limit = compute_upper_limit(0.19, 1000) + MARGIN
    assert count_returns(0.19, limit, batch, 0.2) <= 2


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("measured", "actual"), [(0.0, 0.15), (0.19, 0.40)])
def test_a_worse_canary_is_returned(measured: float, actual: float, batch: int) -> None:
    assert count_returns(measured, actual, batch) >= 48


def test_a_canary_that_differs_on_every_row_as_measured_is_not_tested_for_it() -> None:
    trial = Trial(1.0, 2.0)
    for _ in range(1000):
        trial.add_answer(10, 10, slow=False)
    assert trial.verdict is None


def test_a_canary_that_fails_is_returned() -> None:
    trial = Trial(0.1, 2.0)
    trial.add_failure()
    trial.add_failure()
    assert trial.verdict == "failures: 2 of 2 requests"


def test_wald() -> None:
    test = Sprt(0.1, 0.5, 0.01)
    for _ in range(100):
        test.add(bad=True)
        if test.failed:
            break
    assert test.num_events == 3  # log(0.95 / 0.01) / log(5) = 2.8
    calm = Sprt(0.1, 0.5, 0.01)
    for _ in range(100):
        calm.add(bad=False)
        if calm.passed:
            break
    assert calm.num_events == 6  # log(0.05 / 0.99) / log(0.5 / 0.9) = 5.1
