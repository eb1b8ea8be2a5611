"""What the packaged designer answers, and what it refuses."""

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.small_filters import KINDS, build_specification

from tasks.filter_design.data import list_columns
from tasks.filter_design.predictor import TextbookPredictor, load
from tasks.filter_design.predictor.ladder import (
    TOPOLOGIES,
    Ladder,
    compute_limit_db,
    compute_reference,
    simulate_loss_db,
)
from tasks.filter_design.predictor.networks import decode, encode
from tasks.filter_design.predictor.rounding import round_ladders
from tasks.filter_design.predictor.rows import ORDERS, Spec, read_specs
from tasks.filter_design.predictor.search import FilterDesign
from tasks.filter_design.predictor.series import TOLERANCES, find_logs10, find_steps, name_value
from tasks.filter_design.predictor.strategies import search_ladders, search_textbook
from tasks.filter_design.scoring import check_answers

ROWS = [build_specification(kind) for kind in KINDS]
ROWS += [build_specification(order=None, min_attenuation_db=30.0), replace(ROWS[0], series="E96")]
COLUMNS = list_columns(ROWS)
IMPOSSIBLE = build_specification(min_attenuation_db=45.0)


@pytest.fixture(params=["textbook", "random"])
def predictor(request: pytest.FixtureRequest) -> Any:
    return TextbookPredictor(request.param)


def build_spec(**values: Any) -> Spec:
    return read_specs(list_columns([build_specification(**values)]))[0]


def test_a_row_alone_is_answered_as_in_company(predictor: Any) -> None:
    together = predictor.predict(COLUMNS, budget=24, draws=20)
    for row, specification in enumerate(ROWS):
        alone = predictor.predict(list_columns([specification]), budget=24, draws=20)
        assert {name: values[0] for name, values in alone.items()} == {
            name: values[row] for name, values in together.items()
        }


def test_ten_times_the_frequency_or_impedance_has_the_same_digits(predictor: Any) -> None:
    def list_digits(**scale: float) -> list[list[str]]:
        changed = [
            replace(
                row,
                pass_hz=tuple(edge * scale.get("hz", 1) for edge in row.pass_hz),
                stop_hz=tuple(edge * scale.get("hz", 1) for edge in row.stop_hz),
                z0_ohm=row.z0_ohm * scale.get("ohm", 1),
            )
            for row in ROWS
        ]
        answers = predictor.predict(list_columns(changed), budget=32, draws=0)
        best = [designs[0] for designs in answers["designs"]]
        values = [design["inductors_nh"] + design["capacitors_pf"] for design in best]
        digits = [[f"{value:.3e}".partition("e")[0] for value in row] for row in values]
        return [*digits, [f"{margin:.6f}" for margin in answers["margin_db"]]]

    plain = list_digits()
    assert list_digits(hz=10.0) == plain
    assert list_digits(hz=1e-3) == plain
    assert list_digits(ohm=10.0) == plain


@pytest.mark.parametrize("budget", [1, 2, 7, 16, 33])
def test_no_row_has_more_calls_than_its_budget(predictor: Any, budget: int) -> None:
    answers = predictor.predict(COLUMNS, budget=budget, draws=0)
    assert max(answers["calls"]) <= budget
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


def test_more_calls_never_find_less() -> None:
    margins = [search_textbook(build_spec(), budget)[0].margin_db for budget in (1, 4, 16, 64)]
    assert margins == sorted(margins)


def test_parts_are_of_their_series(predictor: Any) -> None:
    answers = predictor.predict(COLUMNS, budget=16, draws=0)
    for row, designs in zip(ROWS, answers["designs"], strict=True):
        values = np.array(designs[0]["inductors_nh"] + designs[0]["capacitors_pf"])
        nearest = 10 ** find_logs10(find_steps(np.log10(values), row.series), row.series)
        np.testing.assert_allclose(nearest, values, rtol=1e-12)


@pytest.mark.parametrize("series", list(TOLERANCES))
def test_rounding_takes_the_nearest_by_ratio(series: str) -> None:
    values = np.exp(np.random.default_rng(0).uniform(-9, 9, 300))
    steps = find_steps(np.log10(values), series)
    for value, step in zip(values, steps.tolist(), strict=True):
        ratios = [abs(math.log(name_value(series, step + shift) / value)) for shift in (-1, 0, 1)]
        assert ratios[1] == min(ratios)


def test_a_resonator_is_rounded_to_its_frequency() -> None:
    """Inductor and capacitor apart may each be off by 2.5 %, and the resonator by as much."""
    spec = build_spec(kind="band-pass")
    ladder = Ladder(spec, 3)
    logs = np.log(compute_reference(spec, 3, "series_first") / ladder.units_si[0])
    random = np.random.default_rng(0).normal(0, 0.2, (200, 6)) + logs
    topologies = np.zeros(200, int)
    steps = round_ladders(ladder, random, topologies)
    apart = find_steps(random / math.log(10) + ladder.mantissas[topologies], "E24")

    def measure_detuning(steps: np.ndarray) -> float:
        logs10 = np.array([[math.log10(name_value("E24", int(s))) for s in row] for row in steps])
        errors = (logs10 - ladder.mantissas[topologies]) * math.log(10) - random
        return float(np.abs(errors.reshape(200, 3, 2).sum(axis=2)).mean())

    assert measure_detuning(steps) < 0.7 * measure_detuning(apart)


def test_a_mask_that_no_ladder_can_meet_is_said_to_be_impossible(predictor: Any) -> None:
    answers = predictor.predict(list_columns([IMPOSSIBLE]), budget=16)
    limit = answers["attenuation_limit_db"][0]
    assert limit < 45.0
    assert answers["possible"] == answers["meets_spec"] == [False]
    assert answers["message"] == [
        "no ladder of 5 parts can meet this mask: at 5e+07 Hz none attenuates by more than "
        f"{limit:.2f} dB, and 45 dB are asked for"
    ]
    assert answers["margin_db"][0] < 0


def test_an_order_left_out_has_the_fewest_parts() -> None:
    spec = build_spec(order=None, min_attenuation_db=16.5)
    able = [order for order in ORDERS["low-pass"] if compute_limit_db(spec, order) >= 16.5]
    designs, calls = search_ladders(spec, TextbookPredictor()._strategy, 64)
    met = [design.order for design in designs if design.margin_db >= 0]
    assert able[0] == 3
    assert min(met) == 5
    assert max(design.order for design in designs) == 5  # 7 was not needed
    assert calls <= 64


def test_ranks_put_first_what_they_name() -> None:
    columns = list_columns([build_specification(min_attenuation_db=20.0)])
    best = {
        rank: TextbookPredictor().predict(columns, rank=rank)["designs"][0]
        for rank in ("margin", "yield", "parts")
    }
    assert [design["margin_db"] for design in best["margin"]] == sorted(
        (design["margin_db"] for design in best["margin"]), reverse=True
    )
    shares = [design["yield_share"] for design in best["yield"]]
    assert shares == sorted(shares, reverse=True)
    assert len(best["parts"][0]["inductors_nh"]) == 2  # of five parts, the fewest


def test_no_draws_give_no_yield() -> None:
    answers = TextbookPredictor().predict(COLUMNS, budget=2, draws=0)
    assert answers["yield_share"] == [-1.0] * len(ROWS)


def test_the_response_is_that_of_the_best_design() -> None:
    answers = TextbookPredictor().predict(list_columns([build_specification()]))
    spec = build_spec()
    best = search_textbook(spec, 64)[0]
    frequencies = np.array(answers["frequency_hz"][0])
    loss = simulate_loss_db(best.parts[None], spec, best.order, best.topology, frequencies)[0]
    np.testing.assert_allclose(answers["s21_db"][0], -loss, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_coordinates_name_a_ladder_and_are_those_of_its_mirror(kind: str, topology: str) -> None:
    spec = build_spec(kind=kind)
    order = 3 if kind == "band-pass" else 5
    ladder = Ladder(spec, order)
    number = TOPOLOGIES.index(topology)
    ratios = np.random.default_rng(1).normal(0, 0.1, ladder.num_parts)
    proposals = decode(ladder, encode(ladder, ratios, number)[None])
    assert proposals.topologies.tolist() == [number]
    np.testing.assert_allclose(proposals.logs[0], ladder.references[number] + ratios, atol=1e-12)


def test_a_high_pass_has_the_coordinates_of_the_low_pass_that_it_mirrors() -> None:
    low = build_spec(q_inductor=80.0)
    high = build_spec(kind="high-pass", q_inductor=80.0)
    ratios = np.array([0.1, -0.2, 0.0, 0.3, 0.05])
    series, shunt = 0, 1
    one = encode(Ladder(low, 5), ratios, series)
    np.testing.assert_allclose(one, encode(Ladder(high, 5), -ratios, shunt))


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"order": 4}, "order: a low-pass is built with 3 or 5 or 7, found 4; equal terminations need"),
    ({"order": 9}, "leave it out to get the fewest parts"),
    ({"order": "five"}, "order: a low-pass is built with 3 or 5 or 7, found 'five'"),
    ({"stop_hz": [2e7]}, "stop_hz: 2e\\+07 Hz is in the passband, below 3e\\+07 Hz: move it above"),
    ({"pass_hz": [3e7, 5e7]}, "pass_hz: a low-pass has \\[edge\\] in Hz"),
    (
        {"kind": "band-pass", "order": 3, "pass_hz": [5e7, 3e7], "stop_hz": [2e7, 7e7]},
        "pass_hz: edges are not ascending: 5e\\+07, 3e\\+07; swap them",
    ),
    *(
        (
            {"kind": "band-pass", "order": 3, "pass_hz": [1e8, upper], "stop_hz": [2e7, 4e8]},
            f"pass_hz: edges 100000000 and {found} are less than 0.1 % apart: no ladder of parts "
            "has so narrow a band; move them apart",
        )
        for upper, found in (
            (1e8, "100000000"),
            (1e8 * (1 + 4e-13), "100000000"),
            (1e8 * (1 + 1e-6), "100000100"),
            (1.0009e8, "100090000"),
        )
    ),
    (
        {"kind": "band-pass", "order": 3, "pass_hz": [3e7, 5e7], "stop_hz": [2e7, 4e7]},
        "stop_hz: 2e\\+07 and 4e\\+07 Hz are not on both sides of the passband",
    ),
    ({"kind": "high-pass"}, "stop_hz: 5e\\+07 Hz is in the passband, above 3e\\+07 Hz"),
    ({"kind": "notch"}, "kind: expected low-pass, high-pass, band-pass, found 'notch'"),
    ({"max_loss_db": 0.0}, "max_loss_db: expected a number from 0.001 to 100, found 0.0; give the"),
    ({"max_loss_db": "one"}, "max_loss_db: expected a number from 0.001 to 100, found 'one'"),
    ({"max_loss_db": math.nan}, "max_loss_db: expected a number from 0.001 to 100, found nan"),
    ({"max_loss_db": True}, "max_loss_db: expected a number from 0.001 to 100, found True"),
    ({"min_attenuation_db": 0.5}, "min_attenuation_db: 0.5 dB is not above max_loss_db"),
    ({"q_inductor": 0.0}, "q_inductor: expected a number from 1 to 1e\\+07, found 0.0; give the Q"),
    ({"q_capacitor": 1.1e7}, "q_capacitor: expected a number from 1 to 1e\\+07, found 11000000.0"),
    (
        {"kind": "band-pass", "order": 3, "pass_hz": [10.0, 1e11], "stop_hz": [1.0, 1e12]},
        "pass_hz: edges 10 and 1e\\+11 are more than a factor of 1000 apart: design a high-pass "
        "and a low-pass for them",
    ),
    ({"q_capacitor": -3}, "q_capacitor: expected a number from 1"),
    ({"z0_ohm": 0}, "z0_ohm: expected a number from 0.001"),
    ({"series": "E7"}, "series: expected E12, E24, E96, found 'E7'"),
    ({"pass_hz": [1e308], "stop_hz": [1.5e308]}, "pass_hz: expected a number from 1 to 1e\\+12"),
    ({"stop_hz": [None]}, "stop_hz: expected a number from 1 to 1e\\+12, found None"),
    ({"pass_hz": "3e7"}, "pass_hz: a low-pass has \\[edge\\] in Hz, found '3e7'"),
    ({"pass_hz": 3e7}, "pass_hz: a low-pass has \\[edge\\] in Hz, found 30000000.0"),
    ({"pass_hz": np.array(3e7)}, "pass_hz: a low-pass has \\[edge\\] in Hz, found array\\(3000"),
    (
        {"pass_hz": np.array([[3e7]])},
        "pass_hz: a low-pass has \\[edge\\] in Hz, found array\\(\\[\\[",
    ),
    ({"pass_hz": bytearray(b"a")}, "pass_hz: a low-pass has \\[edge\\] in Hz, found bytearray"),
    ({"pass_hz": memoryview(b"a")}, "pass_hz: a low-pass has \\[edge\\] in Hz, found <memory"),
    ({"order": np.complex128(5)}, "order: a low-pass is built with .*, found .*5"),
]


@pytest.mark.parametrize(("values", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_a_bad_row_is_refused_with_its_field(values: dict[str, Any], message: str) -> None:
    columns = list_columns([build_specification()] * 2)
    changed = {name: [column[0], values.get(name, column[1])] for name, column in columns.items()}
    with pytest.raises(ValueError, match=f"^row 1: .*{message}"):
        TextbookPredictor().predict(changed)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 3.0, 7.7, 1e3])
def test_the_narrowest_band_is_answered(scale: float) -> None:
    """The edges differ by 0.1 %, whatever the rounding of their ratio."""
    narrow = build_specification(
        "band-pass",
        pass_hz=(1e8 * scale, 1.001e8 * scale),
        stop_hz=(9e7 * scale, 1.1e8 * scale),
        q_inductor=1e6,
        q_capacitor=1e6,
    )
    columns = list_columns([narrow])
    assert check_answers(columns, {}, TextbookPredictor(calls=4).predict(columns)) == []


@pytest.mark.parametrize("quality", [1.0, 100.0, 1e7])
@pytest.mark.parametrize(
    "values",
    [
        {"order": 7},
        {"order": 7, "z0_ohm": 1e-3},
        {"kind": "high-pass", "order": 7, "z0_ohm": 1e6},
        {"kind": "band-pass"},
        {"kind": "band-pass", "pass_hz": (20.0, 2e4), "stop_hz": (3.0, 1e5)},
        {"kind": "band-pass", "pass_hz": (1e8, 1.002e8), "stop_hz": (9.9e7, 1.01e8)},
    ],
)
def test_the_oracle_agrees_to_the_ends_of_the_ranges(
    values: dict[str, Any], quality: float
) -> None:
    asked = {"q_inductor": quality, "q_capacitor": quality, "min_attenuation_db": 10.0}
    columns = list_columns([build_specification(**asked, **values)])
    assert check_answers(columns, {}, TextbookPredictor(calls=8).predict(columns)) == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"budget": 0}, "budget: expected a whole number from 1 to 1024, found 0"),
        ({"budget": 1.5}, "budget: expected a whole number"),
        ({"designs": 11}, "designs: expected a whole number from 1 to 10"),
        ({"draws": -1}, "draws: expected a whole number from 0"),
        ({"rank": "novelty"}, "rank: expected margin, yield, parts, found 'novelty'"),
        (
            {"rank": np.array(["margin", "yield"])},
            "rank: expected margin, yield, parts, found array",
        ),
        ({"rank": "yield", "draws": 0}, "rank: yield needs draws"),
    ],
)
def test_a_bad_param_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextbookPredictor().predict(COLUMNS, **params)


def test_a_table_is_read_in_its_order_whatever_its_index() -> None:
    table = pd.DataFrame({name: column[:3] for name, column in COLUMNS.items()})
    assert read_specs(table[1:]) == read_specs(COLUMNS)[1:3]  # type: ignore[arg-type]  # a table


@pytest.mark.parametrize("num_rows", [1, 3])
def test_columns_of_unequal_length_are_refused(num_rows: int) -> None:
    columns = {name: column[:2] for name, column in COLUMNS.items()}
    columns["order"] = [5.0] * num_rows
    message = (
        f"column 'order' has {num_rows} rows, and 'kind' has 2: give each row a value, or None"
    )
    with pytest.raises(ValueError, match=message):
        TextbookPredictor().predict(columns)


def test_columns_that_may_be_left_out() -> None:
    required = {name: COLUMNS[name][:1] for name in list(COLUMNS)[:5]}
    (spec,) = read_specs(required)
    assert spec == Spec(*(spec.kind, spec.pass_hz, spec.stop_hz, 1.0, 25.0))
    assert read_specs(required | {"order": [math.nan], "series": [None]}) == [spec]
    with pytest.raises(ValueError, match="no column 'pass_hz'; found 'kind'"):
        read_specs({"kind": ["low-pass"]})


def test_another_form_is_refused(tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text('{"kind": "textbook", "calls": 8}')
    assert load(tmp_path).predict(COLUMNS, draws=0)["calls"][:3] == [8, 8, 8]
    with pytest.raises(ValueError, match="there is no form 'int8'; this model has exact"):
        load(tmp_path, "int8")


def test_less_attenuation_is_never_harder() -> None:
    specs = [replace(build_spec(), min_attenuation_db=att / 2) for att in range(40, 70)]
    possible = [s for s in specs if compute_limit_db(s, 5) >= s.min_attenuation_db]
    met = [search_textbook(spec, 16)[0].margin_db >= 0 for spec in possible]
    assert 0 < sum(met) < len(met)
    assert met == sorted(met, reverse=True)


def test_the_margin_of_a_design_is_that_of_its_parts() -> None:
    spec = build_spec()
    design: FilterDesign = search_textbook(spec, 4)[0]
    points = Ladder(spec, 5).points * spec.pass_hz[0]
    loss = simulate_loss_db(design.parts[None], spec, 5, design.topology, points)[0]
    margins = [spec.max_loss_db - loss[:51].max(), loss[51:].min() - spec.min_attenuation_db]
    assert design.margin_db == pytest.approx(min(margins), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_picture_names_the_edges_and_has_no_scripts(kind: str) -> None:
    answers = TextbookPredictor(calls=4).predict(list_columns([build_specification(kind)]))
    picture = ElementTree.fromstring(answers["picture"][0])  # noqa: S314  our own text
    tags = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in picture.iter()}
    assert tags == {"svg", "rect", "path", "polyline", "text"}
    assert not any("href" in name for element in picture.iter() for name in element.attrib)
    texts = [element.text for element in picture.iter() if element.text and element.text.strip()]
    assert {"30 MHz", "50 MHz", "0 dB", "-25 dB"} <= set(texts)
