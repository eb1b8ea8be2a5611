"""Every gate passes what is sound, fails what it is there for, and fails what it cannot compute."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from plumbline.contract import Bound, Metric
from plumbline.evidence import gates
from plumbline.evidence.verdict import summary, verdict
from plumbline.params import Evaluation

LIMITS = Evaluation(confidence=0.95, floor=0.8, min_gain_over_baseline=0.1, slices=[], min_slice_rows=10)


def hits(share: float, rows: int = 1000) -> np.ndarray:
    return (np.arange(rows) < share * rows).astype(float)


def manifest(**classes: str) -> pd.DataFrame:
    rows = [(split, label) for split, labels in classes.items() for label in labels]
    return pd.DataFrame(rows, columns=["split", "label"])


@pytest.fixture
def sound() -> gates.Facts:
    return gates.Facts(
        metric=Metric("accuracy", higher_is_better=True, kind="binary"),
        limits=LIMITS,
        validation={"accepted": True, "manifest": "abc"},
        manifest_digest="abc",
        manifest=manifest(train="abc", validation="abc", test="abc"),
        winner=hits(0.9),
        baselines={"majority": hits(0.4), "stratified": hits(0.3)},
        bound=Bound(0.95, "5 % of the labels are noise"),
    )


def asked(facts: gates.Facts, name: str) -> gates.Gate:
    return next(gate for gate in gates.judge(facts) if gate.name == name)


def test_sound_facts_pass_every_gate(sound: gates.Facts) -> None:
    judged = gates.judge(sound)
    assert [gate.name for gate in judged] == [name for name, _, _ in gates.GATES]
    assert {gate.status for gate in judged} == {"pass"}
    assert verdict(judged) == "promote"
    assert summary("linear", judged) == "linear may be promoted: 5 gates passed."


PLANTS = {
    "accepted": [
        {"validation": {"accepted": True, "manifest": "another"}},
        {"validation": {"accepted": False, "manifest": "abc"}},
        {"validation": {"accepted": "yes", "manifest": "abc"}},
        {"validation": {}},
    ],
    "coverage": [
        {"manifest": manifest(train="abc", validation="abc", test="ab")},
        {"manifest": manifest(train="ab", validation="abc", test="abc")},
        {"manifest": manifest(train="a", validation="a", test="a")},
        {"manifest": manifest(train="abc", validation="abc")},
    ],
    "baselines": [
        {"winner": hits(0.4)},
        {"baselines": {"majority": hits(0.1), "good": hits(0.79)}},  # the gain is 0.11, but not surely 0.10
        {"baselines": {}},
        {"baselines": {"other rows": hits(0.4, 900)}},
    ],
    "bounds": [{"winner": hits(1.0)}, {"winner": hits(0.97)}],
    "floor": [{"winner": hits(0.7)}, {"winner": hits(0.81)}, {"winner": np.array([])}, {"winner": np.array([np.nan])}],
}


@pytest.mark.parametrize(("name", "change"), [(name, change) for name, all_ in PLANTS.items() for change in all_])
def test_what_a_gate_is_there_for_fails_it_and_the_verdict(sound: gates.Facts, name: str, change: dict) -> None:
    planted = replace(sound, **change)
    assert asked(planted, name).status == "fail"
    judged = gates.judge(planted)
    assert verdict(judged) == "refuse"
    assert name in summary("linear", judged)


def test_a_bound_that_nobody_knows_does_not_apply_and_says_why(sound: gates.Facts) -> None:
    gate = asked(replace(sound, bound=Bound(None, "nothing is known")), "bounds")
    assert (gate.status, gate.reason) == ("not-applicable", "nothing is known")


def test_a_score_above_its_bound_by_chance_alone_is_possible(sound: gates.Facts) -> None:
    assert asked(replace(sound, winner=hits(0.955)), "bounds").status == "pass"


def test_no_gates_promote_nothing() -> None:
    assert verdict([]) == "refuse"


def test_a_missing_class_is_named(sound: gates.Facts) -> None:
    gate = asked(replace(sound, manifest=manifest(train="abc", validation="ab", test="abc")), "coverage")
    assert gate.reason == "no examples of c in validation"


@pytest.mark.parametrize(
    ("winner", "name", "status"),
    [
        (1.0, "floor", "pass"),
        (4.0, "floor", "fail"),
        (4.9, "baselines", "fail"),
        (1.0, "bounds", "pass"),
        (0.1, "bounds", "fail"),
    ],
)
def test_where_less_is_better_every_sign_turns(sound: gates.Facts, winner: float, name: str, status: str) -> None:
    noise = np.random.default_rng(0).uniform(-0.05, 0.05, 500)
    facts = replace(
        sound,
        metric=Metric("error", higher_is_better=False, kind="continuous"),
        limits=LIMITS.model_copy(update={"floor": 2.0}),
        winner=winner + noise,
        baselines={"mean": 4.95 + noise[::-1], "worse": 9.0 + noise},
        bound=Bound(0.5, "the noise itself"),
    )
    assert asked(facts, name).status == status
