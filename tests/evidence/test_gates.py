"""Every gate passes what is sound, fails what it is there for, and fails what it cannot compute."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from tests.support.questions import LOOK, Facts, ask_gate
from tests.support.small_texts import LIMITS

from plumbline.contract.params import Behaviour, Groups, Selective
from plumbline.contract.records import Bound, Case, ExportDifference, Leak
from plumbline.contract.task import Metric
from plumbline.contract.verdict import decide_verdict
from plumbline.evidence import compare, gates
from plumbline.evidence.choice import Choice
from plumbline.evidence.gates.remedies import describe_remedy
from plumbline.evidence.judge import summarise_verdict
from plumbline.evidence.uncertainty import SelectiveAnswers
from plumbline.statistics.calibration import CalibrationFinding
from plumbline.statistics.error_ordering import ErrorOrdering
from plumbline.statistics.intervals import Interval
from plumbline.statistics.parity import VariantParity
from plumbline.statistics.power import DISPROOF_LEVEL
from plumbline.statistics.selection import Selection

ACCEPTED = {
    "accepted": True,
    "manifest": "abc",
    "examples": "def",
    "suite": "all",
    "checks": [
        {"name": "nulls", "severity": "blocking", "passed": True},
        {"name": "noise", "severity": "warning", "passed": False},
    ],
}
NULLS, NOISE = ACCEPTED["checks"]


def decide(judged: list[gates.GateResult]) -> str:
    return decide_verdict({gate.name: gate.status for gate in judged})


def hits(share: float, rows: int = 1000) -> np.ndarray:
    return (np.arange(rows) < share * rows).astype(float)


def manifest(**classes: str) -> pd.DataFrame:
    rows = [(split, label) for split, labels in classes.items() for label in labels]
    return pd.DataFrame(rows, columns=["split", "label"])


def set_manifest(**sets: list[str]) -> pd.DataFrame:
    """As `manifest`, with rows that have several labels, each of one letter."""
    rows = [
        (split, "|".join(labels) or "(none)", json.dumps(list(labels)))
        for split, own in sets.items()
        for labels in own
    ]
    return pd.DataFrame(rows, columns=["split", "label", "label_set"])


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


def apart(*errors: float, rows: int = 300, **small: int) -> dict:
    """Test rows of groups a, b, ... with these shares of errors, and of small ones without any."""
    sizes = dict.fromkeys("abcdefghijkl"[: len(errors)], rows) | small
    sides = np.repeat(list(sizes), list(sizes.values()))
    table = pd.DataFrame({"split": "test", "label": "a", "side": sides})
    own = [hits(1 - share, rows) for share in errors]
    return {"manifest": table, "winner": np.concatenate([*own, np.ones(sum(small.values()))])}


SOUND_FORM = ExportDifference("fp32", 1e-6, 1e-3, 200)
MOVED_FORM = ExportDifference("int8", 0.2, 1e-3, 300)
COST = {"one_p95": 5.0, "batch_p95": 60.0, "longest": 90.0, "num_bytes": 2e7, "rss_mb": 400.0,
    "slowdown": 1.1, "answer": 0.0,
}  # fmt: skip


TEST_CHANGES = {
    "before": 1000, "after": 1200, "added": 210, "removed": 10, "changed": 5, "relabelled": 30,
    "renamed": 20, "regrouped": 0, "moved_in": 5, "moved_out": 5, "altered": 30,
}  # fmt: skip


LEAKS = [
    Leak("exact", "test", 0, 1000, ()),
    Leak("near", "test", 20, 1000, ("t1 (much the same)",)),
]
SAME_ROWS = {"gone": 0, "relabelled": [], "new": []}
APART = Groups(columns=["side"], rate="error", max_gap=0.05, min_rows=50)
SIDES = ["left", "left", "right"] * 2 + ["left", "right"] * 500
PROMISE = Selective(risk=0.02, min_coverage=0.5)
SELECTIVE = SelectiveAnswers(
    selection=Selection(0.9, 0.018), num_unexpected=0, num_rows=1000, num_answered=690, num_wrong=9
)


def ordering(area: float, reach: float = 0.04, **changes: object) -> ErrorOrdering:
    """How an uncertainty orders 100 errors of 1000 answers."""
    interval = Interval(area - reach, area + reach)
    highest = area + 1.6 * reach
    sound = ErrorOrdering(1000, 100, 900, area, interval, highest)
    return replace(sound, **changes)


def promise(**changes: object) -> dict:
    """Findings of a model that abstains, but for `changes`."""
    return {"selective": replace(SELECTIVE, **changes)}


def limit(**changes: object) -> dict:
    """Limits that allow slices and abstention, with others of their keys."""
    asked = {"slices": ["side"], "selective": PROMISE, "groups": APART}
    return {"limits": LIMITS.model_copy(update=asked | changes)}


def allow_loss(margin: float) -> dict:
    """Limits by which the champion may lose this much."""
    rule = LIMITS.champion.model_copy(update={"policy": "not-worse", "margin": margin})
    return limit(champion=rule)


@pytest.fixture
def sound() -> Facts:
    return Facts(
        metric=Metric("accuracy", higher_is_better=True, kind="binary"),
        **limit(),
        validation=ACCEPTED,
        digests={"manifest": "abc", "examples": "def"},
        suite="all",
        manifest=manifest(train="abc", validation="abc", test="aabbc" * 200).assign(side=SIDES),
        leaks=LEAKS,
        winner=hits(0.9),
        winner_validation=hits(0.9, 700),
        baselines={"majority": hits(0.4), "stratified": hits(0.3)},
        simple=hits(0.8),
        seeds=None,
        choice=Choice("minilm", ("minilm", "linear"), "minilm is better"),
        controls={"linear": hits(0.41)},
        bound=Bound(0.95, "5 % of the labels are noise"),
        champion=hits(0.85),
        champion_lag=0.0,
        data_changes={"splits": {"test": TEST_CHANGES}, "renames": {}, "test_rows": SAME_ROWS},
        level=0.01,
        look=LOOK,
        slices=groups(left=(0.9, 0.85), right=(0.9, 0.9)),
        calibration=CalibrationFinding(0.06, 0.07, bias=0.01, highest_bias=0.06),
        orderings={"epistemic": ordering(0.7), "total": ordering(0.8)},
        selective=SELECTIVE,
        behaviour=[
            Case("typo", "invariance", 190, 200, ()),
            Case("obvious", "minimum", 12, 12, ()),
        ],
        cost=COST,
        form="int8",
        parity=VariantParity(-0.001, Interval(-0.005, 0.003), 0.997, 1000),
        export=[SOUND_FORM],
        answers=[],
        replay=[],
    )


def test_a_bound_for_each_row_shows_a_leak_that_means_hide(sound: Facts) -> None:
    random = np.random.default_rng(0)
    limits = random.normal(1.0, 0.4, 600)
    facts = replace(sound, metric=Metric("excess", higher_is_better=False, kind="continuous"))

    def judge(winner: np.ndarray) -> str:
        bound = Bound(limits, "exact Bayes")
        return ask_gate("bounds", replace(facts, bound=bound, winner=winner)).status

    assert judge(limits + random.normal(0.0, 0.01, 600)) == "pass"
    assert judge(limits - 0.009) == "fail"


def test_test_and_validation_may_differ_by_chance_alone(sound: Facts) -> None:
    def judge(test: float, validation: float, gap: float = 0.01) -> gates.GateResult:
        changed = {"winner": hits(test), "winner_validation": hits(validation, 700)}
        return ask_gate("consistency", replace(sound, **limit(max_validation_gap=gap), **changed))

    assert judge(0.90, 0.92).status == "pass"
    assert judge(0.92, 0.88).status == "pass"
    easier = judge(0.98, 0.88)
    assert (easier.status, easier.measured) == ("fail", pytest.approx(0.1))
    assert "further above than evaluation.max_validation_gap" in easier.reason
    assert "further below than" in judge(0.85, 0.97).reason
    assert judge(0.98, 0.88, gap=0.1).status == "pass"  # params say that the splits differ


def test_errors_of_signals_differ_by_chance_alone_too(sound: Facts) -> None:
    errors = np.random.default_rng(0).gamma(2, 0.1, 3000)
    facts = replace(sound, metric=Metric("mse", higher_is_better=False, kind="continuous"))

    def judge(test: np.ndarray) -> gates.GateResult:
        return ask_gate("consistency", replace(facts, winner=test, winner_validation=errors[2000:]))

    assert judge(errors[:2000]).status == "pass"
    assert "further above" in judge(errors[:2000] * 0.6).reason
    assert "further below" in judge(errors[:2000] * 1.7).reason


def test_what_is_gone_from_the_test_split_is_limited_and_what_is_new_is_not(sound: Facts) -> None:
    def judge(most: float = 0.05, **changed: int) -> gates.GateResult:
        counts = {"splits": {"test": TEST_CHANGES | changed}, "renames": {}}
        facts = replace(sound, **limit(max_test_changes=most), data_changes=counts)
        return ask_gate("test_split", facts)

    assert judge().measured == pytest.approx(0.03)
    assert judge(added=9000).status == "pass"
    ruling = judge(altered=60)
    assert ruling.status == "fail"
    assert "set evaluation.max_test_changes to 1.0 for one run" in ruling.reason
    assert judge(most=1.0, altered=1000).status == "pass"
    assert ask_gate("test_split", replace(sound, champion=None)).status == "not-applicable"
    unknown = ask_gate("test_split", replace(sound, data_changes=None))
    assert (unknown.status, unknown.reason[:36]) == ("fail", "the champion's manifest is not in th")


@pytest.mark.parametrize(
    ("num_passed", "num_cases", "status"),
    [
        (26, 36, "pass"),
        (19, 36, "pass"),
        (18, 36, "fail"),
        (0, 5, "fail"),
        (0, 4, "not-applicable"),
    ],
)
def test_a_sample_refuses_only_where_its_interval_ends_below_the_share(
    sound: Facts, num_passed: int, num_cases: int, status: str
) -> None:
    case = Case("texts", "direction", num_passed, num_cases, (), is_sample=True)
    assert sound.limits.min_behaviour.direction == 0.75
    gate = ask_gate("behaviour", replace(sound, behaviour=[case]))
    assert gate.status == status
    if gate.interval:
        assert (gate.interval.high < 0.75) == (status == "fail")
        assert gate.threshold == 0.75
        # The chance of so few at the limit is the level of the gate at most.
        is_rare = binom.cdf(num_passed, num_cases, 0.75) < DISPROOF_LEVEL
        assert is_rare == (status == "fail")


@pytest.mark.parametrize(
    ("required", "num_passed", "num_cases", "is_sample", "status"),
    [
        # Of few cases no single one decides.
        (0.9, 8, 9, False, "pass"),
        (0.9, 7, 9, False, "fail"),
        (0.9, 1, 1, False, "pass"),
        (0.9, 0, 1, False, "fail"),
        (1.0, 199, 200, True, "fail"),
        (0.0, 0, 200, True, "pass"),
        (0.9, 0, 0, False, "not-applicable"),
    ],
)
def test_a_behavioural_test_is_held_to_its_share(
    sound: Facts, required: float, num_passed: int, num_cases: int, is_sample: bool, status: str
) -> None:
    shares = dict.fromkeys(("invariance", "direction", "minimum"), required)
    case = Case("texts", "minimum", num_passed, num_cases, (), is_sample=is_sample)
    facts = replace(sound, **limit(min_behaviour=Behaviour(**shares)), behaviour=[case])
    assert ask_gate("behaviour", facts).status == status


def test_samples_share_the_level_of_the_gate(sound: Facts) -> None:
    cases = [Case("texts", "direction", 18, 36, (), is_sample=True)]
    cases += [Case(f"{number}", "direction", 36, 36, (), is_sample=True) for number in range(9)]
    assert ask_gate("behaviour", replace(sound, behaviour=cases[:1])).status == "fail"
    assert ask_gate("behaviour", replace(sound, behaviour=cases)).status == "pass"
    assert binom.cdf(18, 36, 0.75) > DISPROOF_LEVEL / 10


def test_sound_facts_pass_every_gate(sound: Facts) -> None:
    judged = gates.run_gates(sound.build())
    assert [gate.name for gate in judged] == [gate.name for gate in gates.GATES]
    assert {gate.status for gate in judged} == {"pass"}
    assert decide(judged) == "promote"
    summary = f"linear may be promoted: {len(judged)} gates passed."
    assert summarise_verdict("linear", judged) == summary


# What a gate says where one fact differs from those of a sound model.
CHEAP = limit(budget=LIMITS.budget.model_copy(update={"cost": 0.012}))
CHEAP |= {"metric": Metric("accuracy", True, "binary", cost_unit="$")}
SAID = {
    "an answer costs less than its limit": (
        "budget", CHEAP | {"cost": COST | {"answer": 0.011}}, "pass", "cost of an answer",
    ),
    "an answer costs more than its limit": (
        "budget", CHEAP | {"cost": COST | {"answer": 0.03}},
        "fail", "cost of an answer, 0.03 of 0.012 $",
    ),
    "one greeting that two small files share is no leak": (
        "leakage", {"leaks": [Leak("exact", "test", 1, 60, ("thanks",))]},
        "pass", "1 of 60 test examples are word for word in an earlier split: too few to tell",
    ),
    "six are one": ("leakage", {"leaks": [Leak("exact", "test", 6, 60, ("a",))]}, "fail", ""),
    "less than the margin may be lost": (
        "champion", allow_loss(0.02) | {"champion": hits(0.905)}, "pass", "",
    ),
    "more than the margin may not be lost": (
        "champion", allow_loss(0.005) | {"champion": hits(0.905)}, "fail", "",
    ),
    "a champion whose losses are not known is followed by a better one": (
        "champion", {"champion_lag": None}, "pass", "",
    ),
    "and by no other": (
        "champion", allow_loss(0.02) | {"champion_lag": None},
        "fail", "set evaluation.champion.policy to better",
    ),
    "a model that abstains unasked": (
        "selective", limit(selective=None),
        "fail", "it leaves 310 test rows, and evaluation.selective is null",
    ),
    "a model that answers all, unasked": (
        "selective", limit(selective=None) | promise(num_answered=1000, selection=None),
        "not-applicable", "",
    ),
    "a gain is a share of what the majority leaves": (
        "baselines",
        {"winner": hits(0.96), "baselines": {"majority": hits(0.9)}, "simple": None},
        "pass", "required: +0.0100, 10% of what majority leaves to gain",
    ),
    "less than that share is no gain": (
        "baselines",
        {"winner": hits(0.905), "baselines": {"majority": hits(0.9)}, "simple": None},
        "fail", "required: +0.0100",
    ),
    "a busy machine is named": (
        "budget", {"cost": COST | {"slowdown": 9.8}},
        "pass", "on a busy machine, where calls took 9.8 times as long",
    ),
    "rows that count twice": (
        "leakage", {"leaks": [*LEAKS, Leak("copy", "test", 1, 1000, ("t9 (easy)",))]},
        "fail", "1 of 1,000 test examples repeat another one of their split",
    ),
    "chosen on validation, not chosen on test again": (
        "baselines", {"simple": hits(0.899)},
        "pass", "minilm is better; on test +0.0010 over linear (0.8990)",
    ),
    "no score is perfect, so no share of it is asked for": (
        "baselines", {"metric": Metric("gain", higher_is_better=True, kind="continuous")},
        "fail", "set evaluation.min_gain_over_baseline to 0",
    ),
    "a bound that nobody knows": (
        "bounds", {"bound": Bound(None, "nothing is known")}, "not-applicable", "nothing is known",
    ),
    "above its bound by chance alone": ("bounds", {"winner": hits(0.965)}, "pass", ""),
    "the winner is the champion itself": (
        "champion", {"champion": hits(0.9), "is_champion": True},
        "fail", "the winner is the champion itself: its bundle is the same",
    ),
    "a promise that test does not contradict": (  # 0.029: perhaps luck
        "selective", promise(num_wrong=20), "pass", "",
    ),
    "forty errors tell 0.58 neither from chance nor from 0.65": (
        "uncertainty",
        {"orderings": {
            "epistemic": ordering(0.58, reach=0.09, num_errors=40), "total": ordering(0.69),
        }},
        "pass", "0.5800, 0.4900 to 0.6700: 40 errors are too few to tell that from chance",
    ),
    "ten groups that are equally good": (
        "groups", apart(*[0.06] * 10), "pass", "none of 45 pairs",
    ),
    "a gap that the rows cannot tell": (
        "groups", apart(0.06, 0.09), "pass",
        "of 1 the rows cannot tell, of the widest 6,962 would",
    ),
    "a group of three that are all right": (
        "groups", apart(0.3, 0.3, tiny=3), "pass",
        "1 groups of fewer than 50 rows are not judged: side tiny",
    ),
    "no two groups that are large enough": (
        "groups", apart(0.3, tiny=3),
        "not-applicable", "cannot tell: no column has two groups of 50",
    ),
    "few rows that decide all the same": (
        "power", {"winner": hits(0.95, 40), "champion": wrong(0.05, 40), "level": 0.05},
        "pass", "the difference found is larger",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "status", "words"), SAID.values(), ids=SAID)
def test_what_a_gate_says(sound: Facts, name: str, change: dict, status: str, words: str) -> None:
    gate = ask_gate(name, replace(sound, **change))
    assert (gate.status, words in gate.reason) == (status, True), gate.reason
    assert words not in ask_gate(name, sound).reason or not words


PLANTS = {
    "accepted": [
        {"digests": {"manifest": "another", "examples": "def"}},
        {"suite": "one more"},
        {"digests": {"manifest": "abc", "examples": "another"}},
        {"validation": ACCEPTED | {"accepted": False}},
        {"validation": ACCEPTED | {"accepted": "yes"}},
        {"validation": ACCEPTED | {"checks": [NULLS | {"passed": False}, NOISE]}},
        {"validation": ACCEPTED | {"checks": [NULLS | {"passed": "yes"}, NOISE]}},
        {"validation": {}},
    ],
    "coverage": [
        {"manifest": manifest(train="abc", validation="abc", test="ab")},
        {"manifest": manifest(train="ab", validation="abc", test="abc")},
        {"manifest": manifest(train="a", validation="a", test="a")},
        {"manifest": manifest(train="abc", validation="abc")},
        {"manifest": set_manifest(train=["ab", "c"], validation=["abc"], test=["ab", "a"])},
        {"manifest": set_manifest(train=["ab"], validation=["ab"], test=["ab", "ab"])},
    ],
    "leakage": [
        {"leaks": [Leak("exact", "test", 14, 1000, ("t1",))]},
        {"leaks": [Leak("near", "validation", 50, 1000, ("v1",))]},
        {"leaks": [Leak("group", "test", 1, 1000, ("t1",))]},
        {"leaks": []},
        {"leaks": [Leak("exact", "test", 0, 0, ())]},
    ],
    "baselines": [
        {"winner": hits(0.4)},
        # The gain is 0.02, but not significantly 0.012, a tenth of what is left.
        {"baselines": {"majority": hits(0.1), "good": hits(0.88)}},
        {"simple": hits(0.96)},  # chosen on validation, and significantly worse on test
        {"baselines": {}},
        {"baselines": {"other rows": hits(0.4, 900)}},
    ],
    "bounds": [{"winner": hits(1.0)}, {"winner": hits(0.975)}],
    "control": [
        {"controls": {"linear": hits(0.7)}},
        {"controls": {"sound": hits(0.3), "leaks": hits(0.9)}},
        {"named_controls": ["erased"]},  # and the evidence has none of its answers
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
    "calibration": [
        {"calibration": CalibrationFinding(0.08, 0.07, bias=0.01, highest_bias=0.06)},
        {"calibration": CalibrationFinding(0.066, 0.07, bias=0.065, highest_bias=0.06)},
        {"calibration": None},
    ],
    "uncertainty": [
        {"orderings": {"epistemic": ordering(0.53), "total": ordering(0.8)}},
        {"orderings": {"epistemic": ordering(0.7), "total": ordering(0.53)}},
        {"orderings": {"epistemic": ordering(0.3), "total": ordering(0.8)}},
        # The same number on every row: refused however few errors there are.
        {
            "orderings": {
                "epistemic": ordering(0.5, 0, num_values=1, num_errors=3),
                "total": ordering(0.8, num_errors=3),
            }
        },
        {"orderings": {"epistemic": ordering(0.7, auroc=None), "total": ordering(0.8)}},
    ],
    "selective": [
        promise(selection=None),
        promise(num_unexpected=1),  # against the threshold that validation gives
        promise(num_wrong=40),
        promise(num_answered=400),
        promise(num_answered=0, num_wrong=0),
        {"selective": None},
    ],
    "behaviour": [
        {"behaviour": [Case("typo", "invariance", 140, 200, ())]},
        {
            "behaviour": [
                Case("typo", "invariance", 200, 200, ()),
                Case("obvious", "minimum", 9, 12, ()),
            ]
        },
        {"behaviour": []},
    ],
    "budget": [
        {"cost": COST | {"one_p95": 250.0}},
        {"cost": COST | {"num_bytes": 6e8}},
        {"cost": COST | {"longest": 3000.0}},  # more than ten times the limit of one row
        {"cost": COST | {"batch_p95": float("nan"), "rss_mb": float("nan")}},
        {"cost": {}},
    ],
    "parity": [
        {"parity": VariantParity(-0.03, Interval(-0.045, -0.015), 0.985, 1000)},
        {"parity": VariantParity(0.0, Interval(-0.005, 0.005), 0.96, 1000)},
        {"parity": VariantParity(float("nan"), Interval(float("nan"), float("nan")), 1.0, 1000)},
    ],
    "groups": [apart(0.05, 0.3), apart(0.05, 0.05, 0.05, 0.35)],
    "export": [
        {"export": [ExportDifference("fp32", 0.2, 1e-3, 200)]},
        {"export": [ExportDifference("fp32", float("nan"), 1e-3, 200)]},
        {"export": [SOUND_FORM, MOVED_FORM]},
        {"export": [SOUND_FORM, ExportDifference("int8", float("nan"), 1e-3, 200)]},
    ],
    "answers": [{"answers": ["test: row 3 ('hi'): the scores of 2 classes sum to 1.5000"]}],
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
    sound: Facts, name: str, change: dict
) -> None:
    planted = replace(sound, **change)
    assert ask_gate(name, planted).status == "fail"
    judged = gates.run_gates(planted.build())
    assert decide(judged) == "refuse"
    assert name in summarise_verdict("linear", judged)


def test_an_equal_model_follows_where_it_may_be_no_worse(sound: Facts) -> None:
    """All that changed may be what lies beside the model, such as a corpus."""
    equal = replace(sound, champion=sound.winner)
    assert ask_gate("champion", equal).status == "fail"
    assert ask_gate("champion", replace(equal, **allow_loss(0.01))).status == "pass"


def test_only_a_champion_that_was_not_beaten_stays_without_a_fault(sound: Facts) -> None:
    planted = replace(sound, champion=wrong(0.9))
    assert ask_gate("champion", planted).status == "fail"
    judged = gates.run_gates(planted.build())
    assert decide(judged) == "keep"
    assert "the champion stays" in summarise_verdict("linear", judged)
    assert decide(gates.run_gates(replace(planted, winner=hits(0.7)).build())) == "refuse"


def ask_duel(sound: Facts, duel: str, most: float = 0.1, **changed: object) -> gates.GateResult:
    """Ask the gate where the winner alone (w), the champion alone (c) or both are right."""
    marks = np.array(list(duel))
    rows = {"splits": {"test": TEST_CHANGES}, "renames": {}, "test_rows": SAME_ROWS | changed}
    scores = {"winner": (marks != "c").astype(float), "champion": (marks != "w").astype(float)}
    facts = replace(sound, **limit(max_test_changes=most), data_changes=rows, **scores)
    return ask_gate("champion", facts)


def test_who_drops_the_rows_that_the_challenger_loses_wins_nothing(sound: Facts) -> None:
    assert ask_duel(sound, "w" * 50 + "c" * 60 + "=" * 890).status == "fail"
    attack = "w" * 50 + "c" * 20 + "=" * 890
    gate = ask_duel(sound, attack, gone=40)
    assert gate.status == "fail"
    assert gate.reason.endswith(
        "; on the champion's own 1,000 rows, 40 of which are gone and count as lost, "
        "minilm gains -0.0100"
    )
    assert ask_duel(sound, attack) == replace(
        gate, status="pass", reason=gate.reason.partition("; on the champion's own")[0]
    )
    meant = ask_duel(sound, attack, most=1.0, gone=40)  # which the verdict lists as looser
    assert meant == ask_duel(sound, attack)


def test_a_sound_challenger_wins_where_a_few_rows_are_gone_or_many_are_new(sound: Facts) -> None:
    gate = ask_duel(sound, "w" * 65 + "c" * 35 + "=" * 890, gone=10)
    assert (gate.status, gate.reason[-7:]) == ("pass", "+0.0200")
    own, new = "w" * 70 + "c" * 30 + "=" * 900, list(range(1000, 1200))
    assert ask_duel(sound, own + "w" * 5 + "c" * 8 + "=" * 187, new=new).status == "pass"
    elsewhere = "w" * 49 + "c" * 50 + "=" * 901 + "w" * 50 + "=" * 150
    gate = ask_duel(sound, elsewhere, new=new)
    assert (gate.status, gate.reason[-7:]) == ("fail", "-0.0010")


def test_relabelled_rows_are_lost_where_the_answers_differ(sound: Facts) -> None:
    duel = "w" * 60 + "c" * 30 + "=" * 910
    gate = ask_duel(sound, duel, relabelled=[*range(16), *range(900, 940)])
    assert (gate.status, gate.reason[-7:]) == ("fail", "-0.0020")
    assert "56 of which are relabelled, 16 of them lost, minilm" in gate.reason
    assert ask_duel(sound, duel, relabelled=list(range(900, 940))).status == "pass"
    theirs = np.array(["a"] * 920 + ["c"] * 80)  # both are wrong on the last, by other answers
    ours = np.array(["b"] * 60 + ["a"] * 940)
    facts = replace(sound, predicted=({"predicted": ours}, {"predicted": theirs}))
    apart = ask_duel(facts, duel, relabelled=list(range(900, 980)))
    assert (apart.status, apart.reason[-7:]) == ("fail", "-0.0300")


def test_rows_of_continuous_scores_are_lost_by_their_usual_size(sound: Facts) -> None:
    random = np.random.default_rng(0)
    theirs = random.gamma(2, 0.1, 1000)
    facts = replace(
        sound, metric=Metric("mse", False, "continuous"), champion=theirs,
        winner=theirs - random.normal(0.01, 0.02, 1000),
        **limit(max_test_changes=0.9),
    )  # fmt: skip

    def ask(gone: int) -> gates.GateResult:
        rows = {"splits": {}, "renames": {}, "test_rows": SAME_ROWS | {"gone": gone}}
        return ask_gate("champion", replace(facts, data_changes=rows))

    assert ask(0).status == ask(200).status == "pass"
    assert ask(700).status == "fail"


def test_mcnemar_and_the_level_decide_with_the_interval(sound: Facts) -> None:
    six_more = hits(0.9)
    six_more[-6:] = 1  # six rows that only the winner has right: p = 2 * 0.5 ** 6 = 0.031
    facts = replace(sound, winner=six_more, champion=hits(0.9), level=0.05)
    assert ask_gate("champion", facts).status == "pass"
    assert "p = 0.031" in ask_gate("champion", facts).reason
    assert ask_gate("champion", replace(facts, level=0.03)).status == "fail"


def test_only_a_form_that_is_shown_to_be_worse_is_refused(sound: Facts) -> None:
    def judge(gain: float, reach: float, agreement: float | None) -> gates.GateResult:
        interval = Interval(gain - reach, gain + reach)
        parity = VariantParity(gain, interval, agreement, 400)
        return ask_gate("parity", replace(sound, parity=parity))

    lossy = judge(-0.03, 0.01, None)
    assert (lossy.status, lossy.measured, lossy.threshold) == ("fail", -0.03, -0.01)
    assert "significantly beyond" in lossy.reason
    apart = judge(0.0, 0.005, 0.94)
    assert (apart.status, apart.measured, apart.threshold) == ("fail", 0.94, 0.98)
    # Of 400 rows a loss of 0.012 may be none, and 12 other answers may be 8.
    assert judge(-0.005, 0.012, 0.97).status == "pass"
    assert judge(0.0, 0.02, None).status == "pass"


def test_what_params_say_does_not_apply(sound: Facts) -> None:
    nothing = dict.fromkeys(type(LIMITS.budget).model_fields)
    changes = {
        "slices": [],
        "max_calibration_error": None,
        "selective": None,
        "budget": LIMITS.budget.model_copy(update=nothing),
    }
    facts = replace(
        sound, limits=LIMITS.model_copy(update=changes), controls={}, champion=None, parity=None,
        orderings={"confidence": ordering(0.51)}, selective=None,
    )  # fmt: skip
    told = {gate.name: gate.status for gate in gates.run_gates(facts.build())}
    assert {name for name, status in told.items() if status == "not-applicable"} == {
        "control", "test_split", "champion", "slices", "calibration", "budget", "parity",
        "uncertainty", "selective",
    }  # fmt: skip


@pytest.mark.parametrize("num_errors", [0, 9, 991, 1000])
def test_of_few_errors_no_order_can_be_judged(sound: Facts, num_errors: int) -> None:
    few = {name: ordering(0.4, num_errors=num_errors) for name in ("epistemic", "total")}
    gate = ask_gate("uncertainty", replace(sound, orderings=few))
    assert gate.status == "not-applicable"
    assert f"{num_errors} of 1,000 test answers are wrong" in gate.reason


def test_of_sets_each_label_is_asked_for_and_no_set(sound: Facts) -> None:
    sets = set_manifest(train=["ab", "c", ""], validation=["abc"], test=["ac", "b"])
    gate = ask_gate("coverage", replace(sound, manifest=sets))
    assert (gate.status, gate.reason) == ("pass", "every split holds all 3 classes")
    sets = set_manifest(train=["ab", "c"], validation=["ac"], test=["ac", "b"])
    gate = ask_gate("coverage", replace(sound, manifest=sets))
    assert (gate.status, gate.reason) == ("fail", "no examples of b in validation")


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
    sound: Facts, winner: float, name: str, status: str
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
    assert ask_gate(name, facts).status == status


def test_a_tiny_test_split_of_skewed_scores_is_refused(sound: Facts) -> None:
    random = np.random.default_rng(0)
    facts = replace(
        sound,
        metric=Metric("error", higher_is_better=False, kind="continuous"),
        limits=LIMITS.model_copy(update={"floor": 2.0, "max_detectable_difference": 9.0}),
        champion=None,
    )
    few = ask_gate("power", replace(facts, winner=random.lognormal(size=25)))
    assert (few.status, few.measured) == ("fail", 25)
    assert "25 test rows are too few for an interval of skewed scores: it needs" in few.reason
    assert ask_gate("power", replace(facts, winner=random.lognormal(size=800))).status == "pass"
    assert ask_gate("power", replace(facts, winner=random.normal(1, 0.1, 60))).status == "pass"


def test_groups_that_are_too_small_to_rule_out_a_loss_are_counted(sound: Facts) -> None:
    rows = pd.DataFrame({"side": ["large"] * 970 + ["small"] * 30})
    winner, champion = hits(0.9), hits(0.88)
    slices = compare.compare_slices(rows, winner, "x", champion, sound.metric, sound.limits)
    gate = ask_gate("slices", replace(sound, winner=winner, champion=champion, slices=slices))
    assert gate.status == "pass"
    assert "; 1 of them have too few rows to show that they do not." in gate.reason


def test_steps_of_half_a_margin_do_not_walk_down(sound: Facts) -> None:
    right, lag = 900, 0.0
    for _ in range(20):
        champion, winner = (np.arange(1000) < right - n for n in (0, 10))
        facts = replace(
            sound,
            winner=winner.astype(float),
            champion=champion.astype(float),
            champion_lag=lag,
            **allow_loss(0.02),
        )
        if ask_gate("champion", facts).status == "fail":
            break
        assert facts.build().lag is not None
        right, lag = right - 10, facts.build().lag
    assert 900 - right <= 20
    assert "since the champion lost" in ask_gate("champion", facts).reason


def test_a_gain_makes_up_for_former_losses(sound: Facts) -> None:
    assert replace(sound, champion_lag=0.06).build().lag == pytest.approx(0.01)
    assert replace(sound, champion_lag=0.03).build().lag == 0.0
    assert replace(sound, champion=None).build().lag == 0.0


def test_the_form_that_was_trained_needs_no_parity(sound: Facts) -> None:
    assert "put `fp32` first" in describe_remedy({}, "parity")
    assert ask_gate("parity", replace(sound, form="fp32", parity=None)).status == "not-applicable"
