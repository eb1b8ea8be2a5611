"""What changed since the champion is found, whatever it is, and what is asked of its evidence."""

import numpy as np
import pytest

from plumbline.contract.errors import PlumblineError
from plumbline.contract.records import Scores
from plumbline.contract.task import Metric
from plumbline.evidence import changes
from plumbline.evidence.champion import require_format
from plumbline.evidence.document import FORMAT

HIT = Metric("accuracy", higher_is_better=True, kind="binary")
ERROR = Metric("error", higher_is_better=False, kind="continuous")


def test_params_are_named_by_dotted_key_in_order() -> None:
    old = {"seed": 7, "candidates": {"linear": {"rate": 0.1}}, "on": True}
    new = {"seed": 8, "candidates": {"linear": {"rate": 0.1, "decay": 0.0}}, "on": 1}
    assert changes.compare_params(old, new) == [
        {"key": "candidates.linear.decay", "old": None, "new": 0.0},
        {"key": "on", "old": True, "new": 1},
        {"key": "seed", "old": 7, "new": 8},
    ]


def scores(values: list[float], name: str = "accuracy", **columns: list[str]) -> Scores:
    texts = {key: np.array(column, dtype=object) for key, column in columns.items()}
    return Scores({name: np.array(values), "nll": np.array(values)} | texts, {})


def test_examples_that_only_one_got_right() -> None:
    ours = scores([1.0, 1.0, 0.0, 0.0], actual=["a", "b", "c", "d"], predicted=["a", "b", "x", "y"])
    theirs = scores(
        [1.0, 0.0, 1.0, 0.0], actual=["a", "b", "c", "d"], predicted=["a", "z", "c", "y"]
    )
    found = changes.find_flips(
        ["r1", "r2", "r3", "r4"], {"text": ["p", "q", "r", "s"]}, ours, theirs, HIT
    )
    assert (found["num_won"], found["num_lost"]) == (1, 1)
    assert found["won"] == [
        {
            "id": "r2",
            "input": "q",
            "actual": "b",
            "ours_predicted": "b",
            "theirs_predicted": "z",
            "ours": 1.0,
            "theirs": 0.0,
        }
    ]
    assert found["lost"][0]["id"] == "r3"


def test_all_are_counted_and_the_first_are_listed() -> None:
    found = changes.find_flips(
        list(range(50)), {"text": ["t"] * 50}, scores([1.0] * 50), scores([0.0] * 50), HIT
    )
    assert (found["num_won"], len(found["won"]), found["won"][2]["id"]) == (50, 20, "2")
    assert (found["num_lost"], found["lost"]) == (0, [])


def test_the_largest_gains_and_losses_of_a_continuous_score() -> None:
    ours, theirs = scores([0.1, 5.0, 2.0, 1.0], "error"), scores([0.2, 1.0, 9.0, 1.0], "error")
    found = changes.find_flips(
        ["a", "b", "c", "d"], {"x": [0.5, 1.5, 2.5, 3.5], "y": list("klmn")}, ours, theirs, ERROR
    )
    assert [row["id"] for row in found["won"]] == ["c", "a"]  # less error is a gain
    assert [row["id"] for row in found["lost"]] == ["b"]
    assert found["won"][0]["input"] == "x: 2.5, y: m"
    assert (found["won"][0]["ours"], found["won"][0]["theirs"]) == (2.0, 9.0)


def test_long_inputs_are_cut() -> None:
    found = changes.find_flips(["a"], {"text": ["x" * 10_000]}, scores([1.0]), scores([0.0]), HIT)
    assert len(found["won"][0]["input"]) == 300
    assert found["won"][0]["input"].endswith("…")


def test_a_champion_with_evidence_of_another_format_is_named_with_what_to_do() -> None:
    require_format("router version 7", {"format": FORMAT})
    for evidence in ({"format": FORMAT - 1}, {}):
        with pytest.raises(
            PlumblineError, match=r"router version 7: its evidence has format .*`plumbline run`"
        ):
            require_format("router version 7", evidence)
