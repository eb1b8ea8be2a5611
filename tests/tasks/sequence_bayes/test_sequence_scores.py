"""Regret, bounds, behaviour and gates: what is too good, improper or empty is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.small_sequences import build_params, write_examples

from plumbline.contract.task import Columns
from plumbline.tasks.sequence_bayes.data import SequencePrior, read_prior
from plumbline.tasks.sequence_bayes.data.exact import compute_entropy, compute_predictive
from plumbline.tasks.sequence_bayes.scoring import (
    build_baselines,
    check_answers,
    check_behaviour,
    compute_bound,
    score,
)


class Oracle:
    """Answers exactly; `epistemic` is what Bayes' rule gives, or noise."""

    forms = ("exact",)

    def __init__(self, prior: SequencePrior, shift: float = 0.0, noise: bool = False) -> None:
        self._prior, self._shift, self._noise = prior, shift, noise

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        from plumbline.tasks.sequence_bayes.data.exact import compute_epistemic

        answers: dict[str, list[Any]] = {"probabilities": [], "predictive": [], "epistemic": []}
        for sequence in columns["sequence"]:
            rows = np.array([sequence], dtype=np.uint8)
            tables = compute_predictive(self._prior, rows)[0] + self._shift
            answers["predictive"].append(tables.tolist())
            answers["probabilities"].append(tables[-1].tolist())
            own = compute_epistemic(self._prior, rows)[0]
            noise = float(len(sequence)) / 100 + hash(tuple(sequence)) % 7
            answers["epistemic"].append([noise if self._noise else own])
        return answers


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(build_params(), tmp_path_factory.mktemp("scores"))


def test_the_exact_answer_has_no_regret(examples: Path) -> None:
    scores = score(examples, "test", Oracle(read_prior(examples)))
    np.testing.assert_allclose(scores.per_example["regret"], 0, atol=1e-12)
    assert scores.metrics["kl"] == pytest.approx(0, abs=1e-12)
    assert scores.metrics["order_sd"] == pytest.approx(0, abs=1e-12)
    assert scores.metrics["martingale_violation"] == pytest.approx(0, abs=1e-12)
    assert scores.metrics["epistemic_r"] == pytest.approx(1)
    assert scores.metrics["bits"] == pytest.approx(scores.metrics["nll"] / np.log(2))
    assert compute_bound(build_params(), examples, "test").limit == 0


def test_regret_is_the_divergence_in_the_mean(examples: Path) -> None:
    for baseline in build_baselines(build_params(), examples).values():
        scores = score(examples, "test", baseline)
        differences = scores.per_example["regret"] - scores.per_example["kl"]
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        assert abs(differences.mean()) < 4 * error
        assert scores.metrics["kl"] > 0.01


@pytest.mark.parametrize("shift", [0.01, -0.01])
def test_an_improper_answer_is_an_error(examples: Path, shift: float) -> None:
    with pytest.raises(ValueError, match="not a probability distribution"):
        score(examples, "test", Oracle(read_prior(examples), shift=shift))


def test_the_exact_answer_behaves_and_noise_for_uncertainty_does_not(examples: Path) -> None:
    prior = read_prior(examples)
    cases = check_behaviour(build_params(), examples, Oracle(prior))
    assert {case.name for case in cases} >= {"order of the history", "epistemic uncertainty"}
    assert all(case.num_passed == case.num_cases for case in cases)
    failed = [
        case.name
        for case in check_behaviour(build_params(), examples, Oracle(prior, noise=True))
        if case.num_passed < case.num_cases
    ]
    assert failed == ["epistemic uncertainty"]


def test_what_contradicts_itself_is_named() -> None:
    answer: dict[str, Any] = {
        "probabilities": [0.5, 0.5],
        "entropy": float(compute_entropy(np.array([0.5, 0.5]))),
        "epistemic": [],
        "predictive": [],
        "symbols_used": 2,
    }
    columns = {"sequence": [[0, 1]]}

    def check(params: dict[str, Any], **changes: Any) -> list[str]:
        row = answer | changes
        return check_answers(columns, params, {name: [value] for name, value in row.items()})

    assert check({}) == []
    assert "row 0: the sum of probabilities is 1.1" in check({}, probabilities=[0.5, 0.6])[0]
    assert "negative or not finite" in check({}, probabilities=[1.5, -0.5])[0]
    assert "entropy" in check({}, entropy=0.1)[0]
    assert "3 symbols used of 2" in check({}, symbols_used=3)[0]
    assert "epistemic: 0 numbers for 4 rollouts" in check({"rollouts": 4})[0]
    assert "outside the range" in check({"rollouts": 4}, epistemic=[2.0])[0]
    assert "another answer" in check({"all_positions": True}, predictive=[[0.1, 0.9]])[0]
