"""The predictor: whole or in pieces, alone or in company it says the same; bad rows are named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.small_signals import small_params
from tests.support.task_examples import write_examples

from plumbline import bundle
from plumbline.contract.task import Predictor
from plumbline.training import fitting
from tasks.signal_extraction import predictor
from tasks.signal_extraction.models import build_learner
from tasks.signal_extraction.scoring.behaviour import check_behaviour
from tasks.signal_extraction.scoring.scores import score
from tasks.signal_extraction.task import TASK

pytestmark = pytest.mark.slow

CANDIDATES = ("fir", "stateful", "film")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundles of all candidates, and the examples they were trained on."""
    folder, params = tmp_path_factory.mktemp("signals"), small_params()
    examples = write_examples(params, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for candidate in CANDIDATES:
            made = build_learner(params, candidate, examples)
            made.solve() if made.solve else fitting.fit(made, params, candidate, must_learn=False)
            (folder / candidate).mkdir()
            made.save(folder / candidate)
            bundle.seal(folder / candidate, TASK, candidate)
    return folder


@pytest.fixture(scope="module", params=CANDIDATES)
def answerer(trained: Path, request: pytest.FixtureRequest) -> predictor.Predictor:
    return predictor.load(trained / request.param)


def _rows(count: int = 12) -> dict[str, list[Any]]:
    random = np.random.default_rng(4)
    signals = [random.normal(0, 0.3, 20 + 37 * (row % 3)).tolist() for row in range(count)]
    return {"signal": signals, "frequency_hz": [[1.0, 3, 5.0, 7][row % 4] for row in range(count)]}


def test_alone_and_in_company_a_row_gets_the_same(answerer: predictor.Predictor) -> None:
    rows = _rows()
    together = answerer.predict(rows)
    assert [len(part) for part in together["component"]] == [
        len(signal) for signal in rows["signal"]
    ]
    for row in range(12):
        alone = answerer.predict({name: values[row : row + 1] for name, values in rows.items()})
        np.testing.assert_allclose(alone["component"][0], together["component"][row], atol=1e-5)
        np.testing.assert_allclose(alone["state"][0], together["state"][row], atol=1e-5)


@pytest.mark.parametrize("cuts", [[1], [3, 4], [39, 40, 41], [50]])
def test_in_pieces_it_says_what_it_says_at_once(
    answerer: predictor.Predictor, cuts: list[int]
) -> None:
    rows = {
        "signal": [np.sin(np.arange(94) / 9).tolist()] * 4,
        "frequency_hz": [1.0, 3.0, 5.0, 7.0],
    }
    whole = answerer.predict(rows)
    state: list[Any] = [None] * 4
    said: list[list[float]] = [[], [], [], []]
    for start, end in zip([0, *cuts], [*cuts, 94], strict=True):
        part = answerer.predict(
            rows | {"signal": [signal[start:end] for signal in rows["signal"]], "state": state}
        )
        state = json.loads(json.dumps(part["state"]))  # as it travels
        said = [[*before, *now] for before, now in zip(said, part["component"], strict=True)]
    np.testing.assert_allclose(said, whole["component"], atol=1e-5)
    np.testing.assert_allclose(state, whole["state"], atol=1e-5)


def test_rows_that_begin_and_rows_that_go_on_stand_together(answerer: predictor.Predictor) -> None:
    first = answerer.predict({"signal": [[0.1, 0.2]], "frequency_hz": [1.0]})
    rows = {"signal": [[0.3], [0.3], [0.3]], "frequency_hz": [1.0] * 3}
    told = answerer.predict(rows | {"state": [None, first["state"][0], float("nan")]})["component"]
    assert told[0] == pytest.approx(told[2])
    assert told[1] != pytest.approx(told[0], abs=1e-9)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"signal": []}, "row 1: signal: 0 samples"),
        ({"signal": [0.1, None]}, "row 1: signal: expected an array of numbers"),
        ({"signal": [0.1, float("nan")]}, "row 1: signal: contains a number that is not finite"),
        ({"signal": [1e300]}, "row 1: signal: contains a number that is not finite"),
        ({"signal": "0.1"}, "row 1: signal: expected an array of numbers, found '0.1'"),
        ({"signal": [[0.1], [0.2, 0.3]]}, "row 1: signal: expected an array of numbers"),
        ({"frequency_hz": 4.5}, "row 1: frequency_hz: 4.5; the model knows 1, 3, 5, 7"),
        ({"frequency_hz": 10**400}, "row 1: frequency_hz: 1000"),
        ({"frequency_hz": "3"}, "row 1: frequency_hz: expected a number, found '3'"),
        ({"frequency_hz": None}, "row 1: frequency_hz: expected a number"),
        (
            {"state": [0.0] * 999},
            "row 1: state: 999 numbers; send the whole state that this model returned",
        ),
        ({"state": [float("inf")]}, "row 1: state: contains a number that is not finite"),
    ],
)
def test_a_bad_row_is_named(answerer: predictor.Predictor, row: dict[str, Any], said: str) -> None:
    good = {"signal": [0.1, 0.2], "frequency_hz": 3.0, "state": None}
    columns = {name: [good[name], (good | row)[name]] for name in good}
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        answerer.predict(columns)


def test_bad_calls_are_named(answerer: predictor.Predictor) -> None:
    with pytest.raises(ValueError, match="no column 'frequency_hz'; found 'signal'"):
        answerer.predict({"signal": [[0.1]]})
    with pytest.raises(ValueError, match="columns of different lengths"):
        answerer.predict({"signal": [[0.1], [0.2]], "frequency_hz": [3.0]})


def test_the_whole_score_of_a_candidate(trained: Path, answerer: Predictor) -> None:
    found = score(trained / "examples", "test", answerer)
    assert found.metrics["mse"] == pytest.approx(found.per_example["mse"].mean())
    assert found.metrics["mse"] == pytest.approx(
        np.mean([found.metrics[f"mse {f} Hz"] for f in (1, 3, 5, 7)])
    )
    assert found.metrics["excess_over_floor"] == pytest.approx(
        found.metrics["mse"] - found.metrics["floor"]
    )
    assert found.tables["by_sample"]["mse"].mean() == pytest.approx(found.metrics["mse"])
    assert len(found.per_example["mse"]) == 240


def test_what_every_extractor_knows(trained: Path, answerer: Predictor) -> None:
    cases = {
        case.name: case for case in check_behaviour(small_params(), trained / "examples", answerer)
    }
    for name in ("does not look ahead", "continues from its state"):
        assert cases[name].num_passed == cases[name].num_cases == 64
