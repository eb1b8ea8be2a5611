"""What the packaged designer answers, and what it refuses."""

import itertools
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.small_filters import KINDS, build_specification

from tasks.filter_design.data.specifications import list_columns
from tasks.filter_design.predictor import TextbookPredictor
from tasks.filter_design.predictor.ladder import Ladder, compute_limit_db
from tasks.filter_design.predictor.rows import ORDERS, Spec, read_specs
from tasks.filter_design.predictor.strategies import search_ladders

ROWS = [build_specification(kind) for kind in KINDS]
ROWS += [build_specification(order=None, min_attenuation_db=30.0), replace(ROWS[0], series="E96")]
COLUMNS = list_columns(ROWS)
IMPOSSIBLE = build_specification(min_attenuation_db=45.0)


def build_spec(**values: Any) -> Spec:
    return read_specs(list_columns([build_specification(**values)]))[0]


@pytest.mark.parametrize("budget", [1, 7, 33])
def test_no_row_has_more_calls_than_its_budget(budget: int) -> None:
    answers = TextbookPredictor().predict(COLUMNS, budget=budget, draws=0)
    assert max(answers["calls"]) <= budget
    assert answers["yield_share"] == [-1.0] * len(ROWS)
    for designs, calls in zip(answers["designs"], answers["calls"], strict=True):
        assert all(1 <= design["calls"] <= calls for design in designs)


def test_every_simulation_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks.filter_design.predictor import search as module

    simulated = []
    measure = module.measure_margins

    def count(ladder: Ladder, logs: np.ndarray, topologies: np.ndarray) -> np.ndarray:
        simulated.append(len(logs))
        return measure(ladder, logs, topologies)

    monkeypatch.setattr(module, "measure_margins", count)
    answers = TextbookPredictor().predict(COLUMNS, budget=40, draws=0)
    assert sum(simulated) == sum(answers["calls"])


def test_a_mask_that_no_ladder_can_meet_is_said_to_be_impossible() -> None:
    answers = TextbookPredictor().predict(list_columns([IMPOSSIBLE]), budget=16)
    limit = answers["attenuation_limit_db"][0]
    assert limit < 45.0
    assert answers["possible"] == answers["meets_spec"] == [False]
    assert answers["message"] == [
        "no ladder of 5 parts can meet this mask: at 5e+07 Hz none attenuates by more than "
        f"{limit:.2f} dB, and 45 dB are asked for"
    ]
    assert answers["margin_db"][0] < 0
    others = TextbookPredictor().predict(list_columns([IMPOSSIBLE]), budget=16, rank="pareto")
    assert others["designs"][0] == answers["designs"][0][:1], "the nearest"


def test_an_order_left_out_has_the_fewest_parts() -> None:
    spec = build_spec(order=None, min_attenuation_db=16.5)
    able = [order for order in ORDERS["low-pass"] if compute_limit_db(spec, order) >= 16.5]
    designs, calls = search_ladders(spec, TextbookPredictor()._strategy, 64)
    met = [design.order for design in designs if design.margin_db >= 0]
    assert able[0] == 3
    assert min(met) == 5
    assert max(design.order for design in designs) == 5  # 7 was not needed
    assert calls <= 64


@pytest.mark.parametrize(("rank", "goal"), [("margin", "margin_db"), ("yield", "yield_share")])
def test_a_rank_puts_first_what_it_names(rank: str, goal: str) -> None:
    columns = list_columns([build_specification(min_attenuation_db=20.0)])
    designs = TextbookPredictor().predict(columns, rank=rank)["designs"][0]
    goals = [design[goal] for design in designs]
    assert goals == sorted(goals, reverse=True)


@pytest.mark.parametrize(("order", "found"), [(None, {3, 5}), (5, {5})])
def test_pareto_returns_what_none_other_beats(order: int | None, found: set[int]) -> None:
    columns = list_columns([build_specification(min_attenuation_db=14.0, order=order)])
    answers = TextbookPredictor().predict(columns, rank="pareto", designs=10)
    designs = answers["designs"][0]
    goals = [(-one["order"], one["yield_share"], one["margin_db"]) for one in designs]
    for one, other in itertools.permutations(goals, 2):
        assert any(np.array(one) > np.array(other)), "beaten in all goals, or the same"
    assert goals == sorted(goals, key=lambda goal: (-goal[0], -goal[1]))
    assert {-fewest for fewest, _, _ in goals} == found
    assert min(margin for _, _, margin in goals) >= 0
    assert max(answers["calls"]) <= 64


BAND = {"kind": "band-pass", "order": 3, "stop_hz": [2e7, 4e8]}
FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"order": 4}, "order: a low-pass is built with 3 or 5 or 7, found 4; equal terminations need"),
    ({"stop_hz": [2e7]}, "stop_hz: 2e\\+07 Hz is in the passband, below 3e\\+07 Hz: move it above"),
    ({"kind": "high-pass"}, "stop_hz: 5e\\+07 Hz is in the passband, above 3e\\+07 Hz"),
    (BAND | {"pass_hz": [1e7, 5e7]}, "Hz are not on both sides of the passband"),
    (BAND | {"pass_hz": [5e7, 3e7]}, "pass_hz: edges are not ascending: 5e\\+07, 3e\\+07; swap"),
    (BAND | {"pass_hz": [1e8, 1.0009e8]}, "edges 100000000 and 100090000 are less"),
    (BAND | {"pass_hz": [10.0, 1e11]}, "edges 10 and 1e\\+11 are more than a factor of 1000 apart"),
    ({"pass_hz": [3e7, 5e7]}, "pass_hz: a low-pass has \\[edge\\] in Hz"),
    ({"pass_hz": "3e7"}, "pass_hz: a low-pass has \\[edge\\] in Hz, found '3e7'"),
    ({"stop_hz": [None]}, "stop_hz: expected a number from 1 to 1e\\+12, found None"),
    ({"kind": "notch"}, "kind: expected low-pass, high-pass, band-pass, found 'notch'"),
    ({"max_loss_db": "one"}, "max_loss_db: expected a number from 0.001 to 100, found 'one'"),
    ({"min_attenuation_db": 0.5}, "min_attenuation_db: 0.5 dB is not above max_loss_db"),
    ({"q_inductor": 0.0}, "q_inductor: expected a number from 1 to 1e\\+07, found 0.0; give the Q"),
    ({"z0_ohm": 0}, "z0_ohm: expected a number from 0.001"),
    ({"series": "E7"}, "series: expected E12, E24, E96, found 'E7'"),
]


@pytest.mark.parametrize(("values", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_a_bad_row_is_refused_with_its_field(values: dict[str, Any], message: str) -> None:
    columns = list_columns([build_specification()] * 2)
    changed = {name: [column[0], values.get(name, column[1])] for name, column in columns.items()}
    with pytest.raises(ValueError, match=f"^row 1: .*{message}"):
        TextbookPredictor().predict(changed)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"budget": 0}, "budget: expected a whole number from 1 to 1024, found 0"),
        ({"designs": 11}, "designs: expected a whole number from 1 to 10"),
        ({"draws": -1}, "draws: expected a whole number from 0"),
        ({"rank": "novelty"}, "rank: expected margin, yield, pareto, found 'novelty'"),
        ({"rank": "pareto", "draws": 0}, "rank: pareto needs draws"),
    ],
)
def test_a_bad_param_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextbookPredictor().predict(COLUMNS, **params)


def test_a_table_is_read_in_its_order_whatever_its_index() -> None:
    table = pd.DataFrame({name: column[:3] for name, column in COLUMNS.items()})
    assert read_specs(table[1:]) == read_specs(COLUMNS)[1:3]  # type: ignore[arg-type]  # a table


def test_columns_of_unequal_length_are_refused() -> None:
    columns = {name: column[:2] for name, column in COLUMNS.items()} | {"order": [5.0]}
    message = "column 'order' has 1 rows, and 'kind' has 2: give each row a value, or None"
    with pytest.raises(ValueError, match=message):
        TextbookPredictor().predict(columns)


def test_columns_that_may_be_left_out() -> None:
    required = {name: COLUMNS[name][:1] for name in list(COLUMNS)[:5]}
    (spec,) = read_specs(required)
    assert spec == Spec(*(spec.kind, spec.pass_hz, spec.stop_hz, 1.0, 25.0))
    assert read_specs(required | {"order": [math.nan], "series": [None]}) == [spec]
    with pytest.raises(ValueError, match="no column 'pass_hz'; found 'kind'"):
        read_specs({"kind": ["low-pass"]})


@pytest.mark.parametrize("kind", KINDS)
def test_the_picture_names_the_edges_and_has_no_scripts(kind: str) -> None:
    answers = TextbookPredictor(calls=4).predict(list_columns([build_specification(kind)]))
    picture = ElementTree.fromstring(answers["picture"][0])  # noqa: S314  our own text
    tags = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in picture.iter()}
    assert tags == {"svg", "rect", "path", "polyline", "text"}
    assert not any("href" in name for element in picture.iter() for name in element.attrib)
    texts = [element.text for element in picture.iter() if element.text and element.text.strip()]
    assert {"30 MHz", "50 MHz", "0 dB", "-25 dB"} <= set(texts)
