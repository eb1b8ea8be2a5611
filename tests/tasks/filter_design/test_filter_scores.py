"""Scores, bounds, behaviour and gates: claims are not believed, and no theorem is broken."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.questions import Facts, ask_gate
from tests.support.small_filters import KINDS, build_params, build_specification
from tests.support.task_examples import write_examples

from plumbline.contract.records import Bound, Candidate, Scores
from plumbline.contract.task import Columns
from plumbline.evidence import gates
from tasks.filter_design.data.specifications import list_columns
from tasks.filter_design.data.storage import name_rows, read_specifications, write_specifications
from tasks.filter_design.data.theorem import compute_limit, is_possible, is_possible_on_grid
from tasks.filter_design.predictor import TextbookPredictor
from tasks.filter_design.scoring import (
    build_baselines,
    check_answers,
    check_behaviour,
    compute_bound,
    draw_figures,
    score,
)
from tasks.filter_design.scoring.judgement import judge_specifications
from tasks.filter_design.scoring.oracle import compute_margins, read_ladder
from tasks.filter_design.task import TASK


class Changed:
    """Answers as the textbook does, but for what `change` does to each answer's columns."""

    forms = ("exact",)

    def __init__(self, change: Any) -> None:
        self._change = change

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        answers = TextbookPredictor().predict(columns, **params)
        self._change(answers)
        return answers


def ask(**values: Any) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The columns of one specification, and the textbook's answer."""
    columns = list_columns([build_specification(**values)])
    return columns, TextbookPredictor().predict(columns)


def ask_bounds(bound: Bound, met: np.ndarray) -> gates.GateResult:
    """Run the gate on these test scores."""
    limits = build_params().evaluation
    return ask_gate("bounds", Facts(TASK.metric, limits, bound=bound, winner=met))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(build_params(), tmp_path_factory.mktemp("filters"))


@pytest.fixture(scope="module")
def honest(examples: Path) -> Scores:
    return score(examples, "test", TextbookPredictor())


def test_a_limit_computed_by_hand() -> None:
    specification = build_specification(order=3, max_loss_db=3.0103, pass_hz=(1e6,), stop_hz=(2e6,))
    # e^2 = 1, and T_3(2) = 4 x 8 - 3 x 2 = 26
    assert compute_limit(specification, 3) == pytest.approx(10 * np.log10(1 + 26**2), abs=1e-4)


def test_what_is_possible_is_possible_on_the_grid() -> None:
    for kind in KINDS:
        base = build_specification(kind)
        limit = compute_limit(base, base.max_order)
        at_limit = replace(base, min_attenuation_db=limit - 1e-9)
        beyond = replace(base, min_attenuation_db=limit + 0.3)
        assert is_possible(at_limit)
        assert is_possible_on_grid(at_limit)
        assert not is_possible(beyond)
        assert not is_possible_on_grid(beyond), "0.3 dB is more than the grid leaves"


def test_the_textbook_is_scored_by_the_oracle(examples: Path, honest: Scores) -> None:
    scores = honest
    specifications = read_specifications(examples, "test")
    assert scores.per_example["id"].tolist() == name_rows("test", len(specifications))
    assert scores.metrics["met"] == scores.per_example["met"].mean()
    assert scores.metrics["cost"] <= 64
    assert scores.metrics["claimed_and_not_met"] == 0
    assert scores.metrics["impossible_met"] == 0
    assert scores.metrics["met_of_possible"] > 0.5
    shares = scores.tables["by_budget"]["met"].to_numpy()
    assert shares[-1] > shares[0]
    goals = scores.tables["goals"]
    assert (goals["margin_db"] >= 0).all()
    figures = draw_figures(build_params(), [Candidate("textbook", scores, scores, None, {}, 1)])
    assert [figure.name for figure in figures] == ["budgets", "goals"]


def test_baselines_have_the_budget_of_the_candidates(examples: Path) -> None:
    params = build_params()
    rows = read_specifications(examples, "test")[:12]
    calls = {
        name: max(verdict.calls for verdict in judge_specifications(rows, baseline))
        for name, baseline in build_baselines(params, examples).items()
    }
    assert calls == {"textbook search": 64, "textbook, one call": 1}


def test_one_impossible_mask_that_is_met_refuses_the_model(examples: Path, honest: Scores) -> None:
    bound = compute_bound(build_params(), examples, "test")
    met = honest.per_example["met"].copy()
    assert bound.exact
    ruling = ask_bounds(bound, met)
    assert ruling.status == "pass", ruling.reason
    met[int(np.flatnonzero(bound.limit == 0)[0])] = 1
    assert ask_bounds(bound, met).status == "fail"


def test_a_claim_is_not_believed(examples: Path, honest: Scores) -> None:
    def claim(answers: dict[str, list[Any]]) -> None:
        answers["meets_spec"] = [True] * len(answers["meets_spec"])

    scores = score(examples, "test", Changed(claim))
    np.testing.assert_array_equal(scores.per_example["met"], honest.per_example["met"])
    assert scores.metrics["claimed_and_not_met"] == (honest.per_example["met"] == 0).sum()


@pytest.mark.parametrize("fault", ["values of no series", "another order", "a part too many"])
def test_what_cannot_be_built_is_not_met(fault: str) -> None:
    def change(answers: dict[str, list[Any]]) -> None:
        for design in answers["designs"][0]:
            if fault == "values of no series":
                design["capacitors_pf"] = [1.001 * value for value in design["capacitors_pf"]]
            if fault == "another order":
                design["order"] = 7
            if fault == "a part too many":
                design["inductors_nh"] = [*design["inductors_nh"], 100.0]

    specification = build_specification()
    assert judge_specifications([specification], TextbookPredictor())[0].is_met
    assert not judge_specifications([specification], Changed(change))[0].is_met


@pytest.mark.parametrize("kind", KINDS)
def test_what_contradicts_the_oracle_is_named(kind: str) -> None:
    columns, answers = ask(kind=kind, order=None, min_attenuation_db=10.0)
    assert check_answers(columns, {}, answers) == []
    short = {name: columns[name] for name in columns if name not in ("order", "series", "z0_ohm")}
    assert check_answers(short, {}, TextbookPredictor().predict(short)) == []

    def check(name: str, value: Any) -> str:
        changed = copy.deepcopy(answers)
        changed[name] = [value]
        return "".join(check_answers(columns, {}, changed))

    first = answers["designs"][0][0]
    assert "margin_db is not that of the first" in check("margin_db", 146.0)
    assert "nodal analysis says" in check("designs", [first | {"margin_db": 146.0}])
    assert "meets_spec is" in check("meets_spec", not answers["meets_spec"][0])
    assert "possible is" in check("possible", not answers["possible"][0])
    assert "attenuation_limit_db" in check("attenuation_limit_db", 1.0)
    assert "s21_db differs" in check("s21_db", [0.0] * 81)
    assert "calls of the simulator" in check("calls", 5000)
    assert "designs; 3 were" in check("designs", [first] * 4)
    assert "yield_share" in check("designs", [first | {"yield_share": 94.0}])
    assert "4 branches; " in check("designs", [first | {"order": 4}])
    assert "frequency_hz is empty" in check("frequency_hz", [])
    assert "81 frequencies and 1 values of s21_db" in check("s21_db", [0.0])
    assert "the budget is 8" in check_answers(columns, {"budget": 8}, answers | {"calls": [9]})[0]


def test_the_textbook_behaves(examples: Path) -> None:
    cases = check_behaviour(build_params(), examples, TextbookPredictor())
    assert [case for case in cases if case.num_passed < case.num_cases] == []
    assert {case.kind for case in cases} == {"invariance", "direction", "minimum"}


EXTREMES = {
    "a stop edge far from the pass edge": {
        "pass_hz": (1e6,),
        "stop_hz": (1e8,),
        "min_attenuation_db": 60.0,
        "order": None,
    },
    "ten times the frequency is beyond the range": {"pass_hz": (2e11,), "stop_hz": (3e11,)},
    "ten times the impedance is beyond the range": {"z0_ohm": 2e5},
}


@pytest.mark.parametrize("name", list(EXTREMES))
def test_behaviour_asks_nothing_that_the_predictor_refuses(tmp_path: Path, name: str) -> None:
    """Each of these rows is answered; what follows from it may be out of range, and is left out."""
    extreme = build_specification(**EXTREMES[name])
    assert judge_specifications([extreme], TextbookPredictor())
    write_specifications(tmp_path, "test", [build_specification(), extreme])
    cases = check_behaviour(build_params(), tmp_path, TextbookPredictor())
    assert [case for case in cases if case.num_passed < case.num_cases] == []
    num_cases = [case.num_cases for case in cases]
    assert min(num_cases) >= 1
    assert sum(num_cases) < 8, "the easy row has four cases, and the extreme one fewer"


def test_yield_is_the_share_of_draws_that_meet_the_mask() -> None:
    specification = build_specification(min_attenuation_db=15.0)
    _, answers = ask(min_attenuation_db=15.0)
    design = answers["designs"][0][0]
    ladder = read_ladder(design)
    nominal = np.array(ladder.inductors + ladder.capacitors)
    parts = nominal * np.random.default_rng(0).uniform(0.95, 1.05, (400, len(nominal)))  # E24
    columns = tuple(parts.T[:, :, None])
    split = len(ladder.inductors)
    drawn = replace(ladder, inductors=columns[:split], capacitors=columns[split:])
    share = (compute_margins(specification, drawn) >= 0).mean()
    assert share == pytest.approx(design["yield_share"], abs=0.08)


def test_a_champion_that_knows_no_order_by_several_goals_is_scored(examples: Path) -> None:
    """A bundle has the predictor with which it was packaged."""

    class Older:
        forms = ("exact",)

        def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
            """Answer every row."""
            if params.get("rank") == "pareto":
                raise ValueError("rank: expected margin, yield, found 'pareto'")
            return TextbookPredictor().predict(columns, **params)

    older = score(examples, "test", Older())
    now = score(examples, "test", TextbookPredictor())
    assert older.metrics == now.metrics
    assert (len(older.tables["goals"]), len(now.tables["goals"]) > 0) == (0, True)
