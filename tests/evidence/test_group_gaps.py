"""Gaps between groups: which rates there are, who is judged, and at which level."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from tests.support.questions import Facts
from tests.support.small_texts import LIMITS

from plumbline.contract.params import Groups
from plumbline.contract.task import Metric
from plumbline.evidence.compare import MAX_GROUPS
from plumbline.evidence.gates.groups import check_groups, describe_groups
from plumbline.statistics.independent import compute_share_difference_interval

ACCURACY = Metric("accuracy", higher_is_better=True, kind="binary")
LOSS = Metric("nll", higher_is_better=False, kind="continuous")
SIDES = ["left"] * 80 + ["right"] * 60 + [None] * 3
LABELS = ["a", "b"] * 71 + ["a"]
PREDICTED = np.array(["a"] * 90 + ["b"] * 53, dtype=object)


def measure(
    rate: str, right: np.ndarray, sides: list, labels: list | str = "a", metric: Metric = ACCURACY
) -> dict:
    asked = Groups(columns=["side"], rate=rate, max_gap=0.05, min_rows=20)
    facts = Facts(
        metric,
        LIMITS.model_copy(update={"groups": asked}),
        winner=right,
        predicted=({"predicted": PREDICTED}, {}) if labels is LABELS else ({}, {}),
        manifest=pd.DataFrame({"side": sides, "label": labels, "split": "test"}),
    )
    question = facts.build()
    check_groups(question)
    found = describe_groups(question)["groups"]
    assert json.loads(json.dumps(found)) == found
    return found


def count(found: dict) -> dict[str, tuple[int, int, bool]]:
    keys = ("num_hits", "num_rows", "is_judged")
    return {one["value"]: tuple(one[key] for key in keys) for one in found["rates"]}


def test_each_rate_counts_its_own_rows() -> None:
    right = (np.array(LABELS) == PREDICTED).astype(float)
    assert count(measure("error", right, SIDES)) == {
        "left": (40, 80, True), "right": (30, 60, True), "(none)": (2, 3, False),
    }  # fmt: skip
    assert count(measure("answer=a", right, SIDES, LABELS))["right"] == (10, 60, True)
    found = measure("recall=a", right, SIDES, LABELS)
    assert count(found) == {
        "left": (40, 40, True), "right": (5, 30, True), "(none)": (0, 2, False),
    }  # fmt: skip
    assert (found["worst"]["higher"], found["worst"]["lower"]) == ("left", "right")


def test_all_pairs_share_the_level_of_the_gate() -> None:
    """0.003 over both orders of each pair: of three groups six."""
    right = np.concatenate([np.arange(100) >= wrong for wrong in (10, 20, 30)]).astype(float)
    found = measure("error", right, list(np.repeat(["a", "b", "c"], 100)))
    worst = found["worst"]
    expected = compute_share_difference_interval((30, 100), (10, 100), 1 - 2 * 0.003 / 6)
    assert (found["num_pairs"], worst["higher"], worst["lower"]) == (3, "c", "a")
    assert (worst["low"], worst["high"]) == pytest.approx(expected)


def test_a_column_of_many_values_is_read_by_its_largest() -> None:
    found = measure("error", np.ones(2000), [f"customer {number}" for number in range(2000)])
    assert (len(found["rates"]), found["num_pairs"], found["worst"]) == (MAX_GROUPS, 0, None)


def test_more_rows_of_the_same_rates_come_closer_to_the_truth() -> None:
    right = np.r_[np.ones(72), np.zeros(8), np.ones(50), np.zeros(10)]
    gaps = [
        measure("error", np.tile(right, times), SIDES[:140] * times)["worst"]
        for times in (1, 4, 16)
    ]
    for few, many in pairwise(gaps):
        assert few["low"] < many["low"] < many["difference"] < many["high"] < few["high"]


def test_answers_that_have_no_such_rate_are_an_error() -> None:
    with pytest.raises(ValueError, match="neither right nor wrong"):
        measure("error", np.ones(143), SIDES, metric=LOSS)
    with pytest.raises(ValueError, match="has a class a"):
        measure("answer=a", np.ones(143), SIDES)
    with pytest.raises(ValueError, match="has a class c"):
        measure("recall=c", np.ones(143), SIDES, LABELS)
