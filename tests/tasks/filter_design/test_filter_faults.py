"""What the selftest plants is caught by what it names; the selftest itself runs all stages."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from tests.support.small_filters import build_specification

from tasks.filter_design.data import list_columns
from tasks.filter_design.faults import list_faults, read_fixture, read_weak_fixture
from tasks.filter_design.faults.faulty_predictor import wrap
from tasks.filter_design.faults.models import HARMLESS, find_network
from tasks.filter_design.params import FilterParams
from tasks.filter_design.predictor import TextbookPredictor
from tasks.filter_design.scoring import build_baselines, check_answers
from tasks.filter_design.scoring.judgement import judge_specifications

ROWS = [
    build_specification(order=3, min_attenuation_db=12.0),
    build_specification(),
    build_specification("high-pass"),
    build_specification("band-pass", min_attenuation_db=12.0),
    build_specification(min_attenuation_db=60.0),  # beyond the theorem
]


def plant(**config: Any) -> Any:
    return wrap(TextbookPredictor(calls=8), HARMLESS | config)


def test_nothing_planted_is_nothing_found() -> None:
    columns = list_columns(ROWS)
    assert check_answers(columns, {}, plant().predict(columns)) == []


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"mirrored": True}, "row 0: design 0: margin"),
        ({"claims_all": True}, "margin 146.000000 dB, but nodal analysis says"),
        ({"claims_impossible": True}, "row 4: design 0: margin 146"),
        ({"random_values": True}, "but nodal analysis says"),
        ({"off_series": True}, "nH is not a value of E24"),
        ({"other_netlist": True}, "row 1: the netlist differs from the first design by"),
    ],
)
def test_a_fault_contradicts_the_oracle(config: dict[str, bool], message: str) -> None:
    columns = list_columns(ROWS)
    problems = check_answers(columns, {}, plant(**config).predict(columns))
    assert message in "\n".join(problems)


def test_random_values_and_mirrored_filters_meet_nothing() -> None:
    assert any(verdict.is_met for verdict in judge_specifications(ROWS[:2], plant()))
    for config in ({"random_values": True}, {"mirrored": True}):
        verdicts = judge_specifications(ROWS[:2], plant(**config))
        assert not any(verdict.is_met for verdict in verdicts)


def test_calls_beyond_the_budget_are_counted() -> None:
    verdicts = judge_specifications(ROWS, plant(calls=64))
    assert np.mean([verdict.calls for verdict in verdicts]) == 64


def test_the_fixtures_give_baselines_as_many_calls_as_their_candidate() -> None:
    for text, calls in ((read_fixture(), 2), (read_weak_fixture(), 1)):
        params = FilterParams.model_validate(yaml.safe_load(text))
        (config,) = params.candidates.values()
        baseline = build_baselines(params, Path())["textbook search"]
        verdicts = judge_specifications(ROWS[:1], baseline)
        assert [config.calls, verdicts[0].calls] == [calls, calls]
        assert find_network(read_fixture()) in read_fixture()


def test_every_fault_has_a_name_of_its_own() -> None:
    names = [fault.name for fault in list_faults()]
    assert len(set(names)) == len(names) == 11
