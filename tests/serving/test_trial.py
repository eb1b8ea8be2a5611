"""The trial of a canary: how often a better, an equal and a worse one is returned."""

import random

import pytest

from plumbline.serving.disagreement_limit import MARGIN, compute_upper_limit
from plumbline.serving.trial import ShareTest, Trial

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
    trial = Trial(1.0)
    for _ in range(1000):
        trial.add_answer(10, 10)
    assert trial.verdict is None


def test_a_canary_that_fails_is_returned() -> None:
    trial = Trial(0.1)
    trial.add_failure()
    assert trial.verdict is None
    trial.add_failure()
    assert trial.verdict == "failures: 2 of 2 requests"


def make_sound_trial(num_answers: int) -> Trial:
    """A trial in which so many answers were as they should be."""
    trial = Trial(0.1)
    for _ in range(num_answers):
        trial.add_answer(1, 0)
    return trial


@pytest.mark.parametrize("num_sound", [156, 10_000])
def test_a_canary_that_begins_to_fail_late_is_returned(num_sound: int) -> None:
    trial = make_sound_trial(num_sound)
    for _ in range(10):
        trial.add_failure()
    assert trial.verdict == f"failures: 10 of {num_sound + 10} requests"


@pytest.mark.parametrize("num_sound", [156, 10_000])
def test_a_canary_that_begins_to_differ_late_is_returned(num_sound: int) -> None:
    trial = make_sound_trial(num_sound)
    for _ in range(30):
        trial.add_answer(1, 1)
    assert "answers that differ from the champion's: 30 of" in str(trial.verdict)


@pytest.mark.parametrize("batch", [8, 64])
def test_a_canary_that_differs_on_whole_requests_is_returned(batch: int) -> None:
    """Every third request is wrong on all of its rows."""
    trial = Trial(0.05)
    for turn in range(200):
        trial.add_answer(batch, batch * (turn % 3 == 2))
    assert trial.verdict is not None


def test_a_bet_on_one_event_gains_what_walds_test_does() -> None:
    test = ShareTest(0.1, 0.4)
    test.add(1, 1)
    assert test.wealths[0] == pytest.approx(5 / 2)  # 0.5 / 0.1, of half a unit
    test.add(1, 0)
    assert test.wealths[0] == pytest.approx((5 / 2 + 1 / 6) * 5 / 9)  # (1 - 0.5) / (1 - 0.1)
