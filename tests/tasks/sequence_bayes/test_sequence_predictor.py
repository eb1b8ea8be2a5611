"""What the packaged model answers, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.support.small_sequences import build_params
from tests.support.task_examples import write_examples

from tasks.sequence_bayes.models import build_learner
from tasks.sequence_bayes.predictor import load
from tasks.sequence_bayes.scoring import build_longest_input, check_answers

RANDOM = np.random.default_rng(0)
HISTORIES = [RANDOM.integers(0, 3, length).tolist() for length in (0, 1, 5, 5, 23, 40)]


@pytest.fixture(scope="module", params=["rule", "counts", "transformer"])
def predictor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    params = build_params()
    folder = tmp_path_factory.mktemp(request.param)
    learner = build_learner(params, request.param, write_examples(params, folder))
    if learner.solve:
        learner.solve()
    (folder / "model").mkdir()
    learner.save(folder / "model")
    return load(folder / "model")


@pytest.fixture
def laplace(tmp_path: Path) -> Any:
    """The rule that adds 1, on coins."""
    save_file({"alphas": np.array([1.0, 1.0])}, tmp_path / "model.safetensors")
    config = {"kind": "rule", "num_symbols": 2, "max_history": 100}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return load(tmp_path)


def test_a_row_alone_is_answered_as_in_company(predictor: Any) -> None:
    params: dict[str, Any] = {"rollouts": 3, "continuation": 4, "all_positions": True}
    together = predictor.predict({"sequence": HISTORIES}, **params)
    for row, history in enumerate(HISTORIES):
        alone = predictor.predict({"sequence": [history]}, **params)
        for name, values in alone.items():
            assert values[0] == together[name][row], name


def test_answers_keep_their_invariants(predictor: Any) -> None:
    columns = {"sequence": HISTORIES}
    for params in ({}, {"rollouts": 2}, {"all_positions": True}):
        assert check_answers(columns, params, predictor.predict(columns, **params)) == []
    assert len(predictor.predict(build_longest_input(predictor))["probabilities"]) == 1


def test_a_long_history_is_answered_from_its_end(predictor: Any) -> None:
    history = HISTORIES[-1]
    whole = predictor.predict({"sequence": [history]})
    end = predictor.predict({"sequence": [history[-23:]]})
    assert whole == end
    assert whole["symbols_used"] == [23]


def test_the_rule_of_laplace_begins_with_the_prior(laplace: Any) -> None:
    answer = laplace.predict({"sequence": [[1, 1, 0, 1], []]}, all_positions=True)
    ones = np.array(answer["predictive"][0])[:, 1]
    np.testing.assert_allclose(ones, [1 / 2, 2 / 3, 3 / 4, 3 / 5, 4 / 6])
    assert answer["probabilities"][1] == answer["predictive"][1][0] == [0.5, 0.5]
    assert answer["symbols_used"] == [4, 0]


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        ([0, 3], "row 0: sequence: expected whole numbers from 0 to 2, found 3 at place 1"),
        ([-1], "found -1 at place 0"),
        ([0, True], "found True at place 1"),
        ([0.0, 1.0], "found 0.0 at place 0"),
        ([10**30], "found 1000000000000000000000000000000 at place 0"),
        ("012", "expected whole numbers from 0 to 2, found '012'"),
        ([0] * 1_000_001, "1,000,001 symbols; at most 1,000,000 are read"),
    ],
)
def test_a_bad_sequence_is_refused(predictor: Any, sequence: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        predictor.predict({"sequence": [sequence]})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rollouts": 1.5}, "rollouts: expected a whole number from 0 to 64, found 1.5"),
        ({"rollouts": 1, "continuation": 0}, "continuation: expected a whole number from 1"),
        ({"rollouts": True}, "rollouts: expected a whole number"),
    ],
)
def test_a_bad_param_is_refused(predictor: Any, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        predictor.predict({"sequence": [[0]]}, **params)


def test_another_column_and_another_form_are_refused(predictor: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no column 'sequence'; found 'history'"):
        predictor.predict({"history": [[0]]})
    with pytest.raises(ValueError, match="there is no form 'int8'"):
        type(predictor)(tmp_path, {}, "int8")
