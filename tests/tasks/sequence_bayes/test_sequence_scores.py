"""Regret, bounds, behaviour and gates: what is too good, improper or empty is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.questions import Facts, ask_gate
from tests.support.small_sequences import build_params, list_values
from tests.support.task_examples import write_examples

from plumbline.contract.records import Bound, Candidate
from plumbline.contract.task import Columns
from plumbline.evidence import gates
from tasks.sequence_bayes.data.exact import compute_predictive
from tasks.sequence_bayes.data.prior import SequencePrior
from tasks.sequence_bayes.data.storage import read_prior
from tasks.sequence_bayes.params import SequenceParams
from tasks.sequence_bayes.predictor import Rollouts, compute_entropy, estimate_epistemic
from tasks.sequence_bayes.scoring import (
    build_baselines,
    check_answers,
    check_behaviour,
    compute_bound,
    draw_figures,
    score,
)
from tasks.sequence_bayes.scoring.uncertainty import ExactModel
from tasks.sequence_bayes.task import TASK


class Oracle:
    """Answers exactly; its epistemic part is estimated as the predictor does, or is noise."""

    forms = ("exact",)

    def __init__(self, prior: SequencePrior, shift: float = 0.0, noise: bool = False) -> None:
        self._prior, self._shift, self._noise = prior, shift, noise

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        answers: dict[str, list[Any]] = {"probabilities": [], "predictive": [], "epistemic": []}
        plan = Rollouts(params.get("rollouts", 0), 24)
        for sequence in columns["sequence"]:
            rows = np.array([sequence], dtype=np.uint8)
            tables = compute_predictive(self._prior, rows)[0] + self._shift
            answers["predictive"].append(tables.tolist())
            answers["probabilities"].append(tables[-1].tolist())
            answers["epistemic"].append(self._estimate(rows, plan) if plan.number else [])
        return answers

    def _estimate(self, rows: np.ndarray, plan: Rollouts) -> list[float]:
        if self._noise:
            return [float(rows.shape[1]) / 100 + int(rows.sum()) % 7]
        model = ExactModel(self._prior)
        return estimate_epistemic(model, rows, plan, self._prior.max_history).tolist()


def ask_bounds(bound: Bound, regret: np.ndarray) -> gates.GateResult:
    """Run the gate on these test scores."""
    limits = build_params().evaluation
    return ask_gate("bounds", Facts(TASK.metric, limits, bound=bound, winner=regret))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(build_params(), tmp_path_factory.mktemp("scores"))


def test_the_exact_answer_has_no_regret(examples: Path) -> None:
    scores = score(examples, "test", Oracle(read_prior(examples)))
    np.testing.assert_allclose(scores.per_example["regret"], 0, atol=1e-12)
    assert scores.metrics["kl"] == pytest.approx(0, abs=1e-12)
    assert scores.metrics["martingale_violation"] == pytest.approx(0, abs=1e-12)
    assert scores.metrics["epistemic_r"] > 0.3
    assert scores.metrics["bits"] == pytest.approx(scores.metrics["nll"] / np.log(2))
    assert not compute_bound(build_params(), examples, "test").limit.any()


def test_figures_show_the_divergence_and_the_doubt(examples: Path) -> None:
    scores = score(examples, "test", build_baselines(build_params(), examples)["frequencies"])
    doubt = score(examples, "test", Oracle(read_prior(examples))).tables["epistemic"]
    scores.tables["epistemic"] = doubt
    figures = draw_figures(build_params(), [Candidate("rule", scores, scores, None, {}, 1)])
    assert [figure.name for figure in figures] == ["by_position", "epistemic"]


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


@pytest.mark.parametrize(
    ("kind", "alpha", "length"),
    [
        ("dice", None, 24),
        ("coins", None, 24),
        ("coins", [20.0, 20.0], 24),
        ("coins", [50.0, 2.0], 24),
        ("coins", None, 6),
    ],
)
def test_the_exact_answer_behaves(
    tmp_path: Path, kind: str, alpha: list[float] | None, length: int
) -> None:
    values = list_values(kind, length)
    if alpha:
        values["data"]["components"] = {"all": {"weight": 1.0, "alpha": alpha}}
    params = SequenceParams.model_validate(values)
    examples = write_examples(params, tmp_path)
    cases = check_behaviour(params, examples, Oracle(read_prior(examples)))
    assert [case for case in cases if case.num_passed < case.num_cases] == []


def test_noise_for_uncertainty_does_not_behave(examples: Path) -> None:
    cases = check_behaviour(build_params(), examples, Oracle(read_prior(examples), noise=True))
    failed = [case.name for case in cases if case.num_passed < case.num_cases]
    assert "epistemic uncertainty" in failed


def test_the_bound_is_not_broken_by_rounding(examples: Path) -> None:
    bound = compute_bound(build_params(), examples, "test")
    scores = score(examples, "test", Oracle(read_prior(examples)))
    ruling = ask_bounds(bound, scores.per_example["regret"])
    assert ruling.status == "pass", ruling.reason
    known = scores.per_example["regret"].copy()
    known[:20] -= 0.5
    assert ask_bounds(bound, known).status == "fail"


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
