"""Every gate passes what is sound, fails what it is there for, and fails what it cannot compute."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.support.small_texts import LIMITS

from plumbline.contract.records import Bound, Case, Leak
from plumbline.contract.task import Metric
from plumbline.evidence import compare, gates
from plumbline.evidence.verdict import decide_verdict, summarise_verdict
from plumbline.registry.ledger import Look
from plumbline.statistics.intervals import Interval
from plumbline.statistics.parity import VariantParity

LOOK = Look("question", "split", "20 uses at 0.95", 3, first_plan="20 uses at 0.95")
ACCEPTED = {
    "accepted": True,
    "manifest": "abc",
    "examples": "def",
    "suite": "all",
    "checks": [{"name": "noise", "severity": "warning", "passed": False}],
}


def hits(share: float, rows: int = 1000) -> np.ndarray:
    return (np.arange(rows) < share * rows).astype(float)


def manifest(**classes: str) -> pd.DataFrame:
    rows = [(split, label) for split, labels in classes.items() for label in labels]
    return pd.DataFrame(rows, columns=["split", "label"])


def wrong(share: float, rows: int = 1000) -> np.ndarray:
    """As hits, the misses at the start."""
    return hits(share, rows)[::-1].copy()


def groups(**scores: tuple[float, float]) -> list[compare.Slice]:
    """Slices of 300 rows each by name: the winner's and the reference's share of hits."""
    rows = pd.DataFrame({"side": np.repeat(list(scores), 300)})
    ours, theirs = (
        np.concatenate([hits(pair[i], 300) for pair in scores.values()]) for i in (0, 1)
    )
    limits = LIMITS.model_copy(update={"slices": ["side"]})
    return compare.compare_slices(
        rows, ours, "the champion", theirs, Metric("accuracy", True, "binary"), limits
    )


@pytest.fixture
def sound() -> gates.Findings:
    return gates.Findings(
        metric=Metric("accuracy", higher_is_better=True, kind="binary"),
        limits=LIMITS.model_copy(update={"slices": ["side"]}),
        validation=ACCEPTED,
        manifest_digest="abc",
        examples_digest="def",
        suite="all",
        manifest=manifest(train="abc", validation="abc", test="abc"),
        leaks=[
            Leak("exact", "test", 0, 1000, ()),
            Leak("near", "test", 20, 1000, ("t1 (much the same)",)),
        ],
        winner=hits(0.9),
        baselines={"majority": hits(0.4), "stratified": hits(0.3)},
        simple=hits(0.8),
        controls={"linear": hits(0.41)},
        bound=Bound(0.95, "5 % of the labels are noise"),
        champion=hits(0.85),
        level=0.01,
        look=LOOK,
        slices=groups(left=(0.9, 0.85), right=(0.9, 0.9)),
        calibration=(0.02, Interval(0.01, 0.03)),
        behaviour=[
            Case("typo", "invariance", 190, 200, ()),
            Case("obvious", "minimum", 12, 12, ()),
        ],
        cost={"one_p95": 5.0, "batch_p95": 60.0, "num_bytes": 2e7, "rss_mb": 400.0},
        candidate="minilm",
        form="int8",
        parity=VariantParity(-0.001, Interval(-0.005, 0.003), 0.997),
        replay=[],
    )


def asked(facts: gates.Findings, name: str) -> gates.GateResult:
    return next(gate for gate in gates.run_gates(facts) if gate.name == name)


def test_sound_facts_pass_every_gate(sound: gates.Findings) -> None:
    judged = gates.run_gates(sound)
    assert [gate.name for gate in judged] == [name for name, _, _ in gates.GATES]
    assert {gate.status for gate in judged} == {"pass"}
    assert decide_verdict(judged) == "promote"
    assert summarise_verdict("linear", judged) == "linear may be promoted: 15 gates passed."


PLANTS = {
    "accepted": [
        {"manifest_digest": "another"},
        {"suite": "one more"},
        {"examples_digest": "another"},
        {"validation": ACCEPTED | {"accepted": False}},
        {"validation": ACCEPTED | {"accepted": "yes"}},
        {
            "validation": ACCEPTED
            | {"checks": [{"name": "nulls", "severity": "blocking", "passed": False}]}
        },
        {"validation": {}},
    ],
    "coverage": [
        {"manifest": manifest(train="abc", validation="abc", test="ab")},
        {"manifest": manifest(train="ab", validation="abc", test="abc")},
        {"manifest": manifest(train="a", validation="a", test="a")},
        {"manifest": manifest(train="abc", validation="abc")},
    ],
    "leakage": [
        {"leaks": [Leak("exact", "test", 10, 1000, ("t1",))]},
        {"leaks": [Leak("near", "validation", 40, 1000, ("v1",))]},
        {"leaks": [Leak("group", "test", 1, 1000, ("t1",))]},
        {"leaks": []},
        {"leaks": [Leak("exact", "test", 0, 0, ())]},
    ],
    "baselines": [
        {"winner": hits(0.4)},
        {
            "baselines": {"majority": hits(0.1), "good": hits(0.79)}
        },  # the gain is 0.11, but not significantly 0.10
        {"simple": hits(0.899)},
        {"baselines": {}},
        {"baselines": {"other rows": hits(0.4, 900)}},
    ],
    "bounds": [{"winner": hits(1.0)}, {"winner": hits(0.97)}],
    "control": [
        {"controls": {"linear": hits(0.7)}},
        {"controls": {"sound": hits(0.3), "leaks": hits(0.9)}},
    ],
    "floor": [
        {"winner": hits(0.7)},
        {"winner": hits(0.81)},
        {"winner": np.array([])},
        {"winner": np.array([np.nan])},
    ],
    "slices": [
        {"slices": groups(left=(0.95, 0.8), right=(0.7, 0.85))},
        {"slices": []},  # a column is named, and no group of it is large enough
    ],
    "calibration": [{"calibration": (0.08, Interval(0.04, 0.1))}, {"calibration": None}],
    "behaviour": [
        {"behaviour": [Case("typo", "invariance", 140, 200, ())]},
        {
            "behaviour": [
                Case("typo", "invariance", 200, 200, ()),
                Case("obvious", "minimum", 10, 12, ()),
            ]
        },
        {"behaviour": [Case("typo", "invariance", 0, 0, ())]},
    ],
    "budget": [
        {"cost": {"one_p95": 250.0, "batch_p95": 60.0, "num_bytes": 2e7, "rss_mb": 400.0}},
        {"cost": {"one_p95": 5.0, "batch_p95": 60.0, "num_bytes": 6e8, "rss_mb": 400.0}},
        {
            "cost": {
                "one_p95": 5.0,
                "batch_p95": float("nan"),
                "num_bytes": 2e7,
                "rss_mb": float("nan"),
            }
        },
        {"cost": {}},
    ],
    "parity": [
        {"parity": VariantParity(-0.012, Interval(-0.02, -0.004), 0.985)},
        {"parity": VariantParity(0.0, Interval(-0.012, 0.012), 1.0)},  # on too few rows
        {"parity": VariantParity(0.0, Interval(-0.005, 0.005), 0.97)},
        {"parity": VariantParity(float("nan"), Interval(float("nan"), float("nan")), 1.0)},
    ],
    "replay": [{"replay": ["golden row 3 differs"]}],
    "power": [
        {"level": 0.0, "look": replace(LOOK, number=21)},
        {"look": replace(LOOK, first_plan="10 uses at 0.95")},
        {"winner": hits(0.9, 30), "champion": wrong(0.9, 30)},
        {"winner": hits(0.9, 4), "champion": None},
    ],
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, all_ in PLANTS.items() for change in all_]
)
def test_what_a_gate_is_there_for_fails_it_and_the_verdict(
    sound: gates.Findings, name: str, change: dict
) -> None:
    planted = replace(sound, **change)
    assert asked(planted, name).status == "fail"
    judged = gates.run_gates(planted)
    assert decide_verdict(judged) == "refuse"
    assert name in summarise_verdict("linear", judged)


def test_a_bound_that_nobody_knows_does_not_apply_and_says_why(sound: gates.Findings) -> None:
    gate = asked(replace(sound, bound=Bound(None, "nothing is known")), "bounds")
    assert (gate.status, gate.reason) == ("not-applicable", "nothing is known")


def test_a_score_above_its_bound_by_chance_alone_is_possible(sound: gates.Findings) -> None:
    assert asked(replace(sound, winner=hits(0.955)), "bounds").status == "pass"


def test_only_a_champion_that_was_not_beaten_stays_without_a_fault(sound: gates.Findings) -> None:
    planted = replace(sound, champion=wrong(0.9))
    assert asked(planted, "champion").status == "fail"
    judged = gates.run_gates(planted)
    assert decide_verdict(judged) == "keep"
    assert "the champion stays" in summarise_verdict("linear", judged)
    assert decide_verdict(gates.run_gates(replace(planted, winner=hits(0.7)))) == "refuse"


def test_mcnemar_and_the_level_decide_with_the_interval(sound: gates.Findings) -> None:
    six_more = hits(0.9)
    six_more[-6:] = 1  # six rows that only the winner has right: p = 2 * 0.5 ** 6 = 0.031
    facts = replace(sound, winner=six_more, champion=hits(0.9), level=0.05)
    assert asked(facts, "champion").status == "pass"
    assert "p = 0.031" in asked(facts, "champion").reason
    assert asked(replace(facts, level=0.03), "champion").status == "fail"


def test_policy_not_worse_accepts_what_is_not_significantly_worse_than_the_margin(
    sound: gates.Findings,
) -> None:
    def asked_for(margin: float) -> str:
        rule = sound.limits.champion.model_copy(update={"policy": "not-worse", "margin": margin})
        limits = sound.limits.model_copy(update={"champion": rule})
        return asked(
            replace(sound, winner=hits(0.9), champion=hits(0.905), limits=limits), "champion"
        ).status

    assert (asked_for(0.02), asked_for(0.005)) == ("pass", "fail")


def test_a_form_that_is_not_shown_to_be_as_good_says_what_to_do(sound: gates.Findings) -> None:
    gate = asked(
        replace(sound, parity=VariantParity(-0.02, Interval(-0.03, -0.01), None)), "parity"
    )
    assert (gate.measured, gate.threshold, gate.interval) == (-0.02, -0.01, Interval(-0.03, -0.01))
    assert "put fp32 first in candidates.minilm.forms" in gate.reason
    apart = asked(
        replace(sound, parity=VariantParity(0.0, Interval(-0.005, 0.005), 0.97)), "parity"
    )
    assert (apart.measured, apart.threshold) == (0.97, 0.98)
    assert (
        asked(
            replace(sound, parity=VariantParity(0.0, Interval(-0.005, 0.005), None)), "parity"
        ).status
        == "pass"
    )


def test_what_params_say_does_not_apply(sound: gates.Findings) -> None:
    nothing = dict.fromkeys(type(LIMITS.budget).model_fields)
    changes = {
        "slices": [],
        "max_calibration_error": None,
        "budget": LIMITS.budget.model_copy(update=nothing),
    }
    facts = replace(
        sound, limits=LIMITS.model_copy(update=changes), controls={}, champion=None, parity=None
    )
    told = {gate.name: gate.status for gate in gates.run_gates(facts)}
    assert {name for name, status in told.items() if status == "not-applicable"} == {
        "control", "champion", "slices", "calibration", "budget", "parity",
    }  # fmt: skip


def test_a_test_split_that_cannot_tell_may_still_decide(sound: gates.Findings) -> None:
    few = replace(sound, winner=hits(0.95, 40), champion=wrong(0.05, 40), level=0.05)
    assert "the difference found is larger" in asked(few, "power").reason
    assert asked(few, "power").status == "pass"


def test_no_gates_promote_nothing() -> None:
    assert decide_verdict([]) == "refuse"


def test_a_missing_class_is_named(sound: gates.Findings) -> None:
    gate = asked(
        replace(sound, manifest=manifest(train="abc", validation="ab", test="abc")), "coverage"
    )
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
def test_where_less_is_better_every_sign_turns(
    sound: gates.Findings, winner: float, name: str, status: str
) -> None:
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
