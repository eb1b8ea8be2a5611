"""What a model says of its doubt, beside its errors, and the threshold that validation gives."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from tests.support.small_texts import LIMITS

from plumbline.contract.params import Selective
from plumbline.contract.records import Scores
from plumbline.contract.task import Metric
from plumbline.evidence.uncertainty import measure_orderings, measure_selective

ACCURACY = Metric("accuracy", higher_is_better=True, kind="binary")
ASKED = LIMITS.model_copy(update={"selective": Selective(risk=0.1, min_coverage=0.2)})
NUM_ROWS = 2000


def draw_scores(seed: int, threshold: float, **columns: np.ndarray) -> Scores:
    """Scores of a calibrated model that answers from `threshold` on."""
    random = np.random.default_rng(seed)
    stated = random.uniform(0.5, 1, NUM_ROWS)
    hits = (random.random(NUM_ROWS) < stated).astype(float)
    answered = (stated >= threshold).astype(float)
    rows = {"accuracy": hits, "confidence": stated, "answered": answered}
    return Scores(rows | columns, {"accuracy": float(hits.mean())})


def test_a_confidence_is_ordered_and_makes_no_claim() -> None:
    (name,) = (orderings := measure_orderings(draw_scores(0, 0.0), ACCURACY, 0.95))
    assert name == "confidence"
    assert orderings[name].auroc_interval.low > 0.6


def test_of_an_ensemble_both_parts_are_ordered_by_themselves() -> None:
    scores = draw_scores(0, 0.0)
    doubt = 1 - scores.per_example["confidence"]
    noise = np.random.default_rng(5).random(NUM_ROWS)
    rows = {"epistemic": noise / 10, "aleatoric": doubt}
    orderings = measure_orderings(draw_scores(0, 0.0, **rows), ACCURACY, 0.95)
    assert set(orderings) == {"epistemic", "total"}
    assert orderings["epistemic"].auroc_interval.low < 0.5 < orderings["total"].auroc_interval.low


def test_members_that_are_one_and_the_same_differ_by_rounding_alone() -> None:
    scores = draw_scores(0, 0.0)
    doubt = 1 - scores.per_example["confidence"]
    rows = {"epistemic": 1e-15 * doubt, "aleatoric": doubt}
    orderings = measure_orderings(draw_scores(0, 0.0, **rows), ACCURACY, 0.95)
    assert orderings["epistemic"].num_values == 1
    assert orderings["epistemic"].auroc == 0.5


def test_where_nothing_is_right_or_wrong_nothing_is_ordered() -> None:
    metric = Metric("error", higher_is_better=False, kind="continuous")
    rows = {"error": np.ones(5), "confidence": np.ones(5)}
    assert measure_orderings(Scores(rows, {}), metric, 0.95) == {}
    assert measure_orderings(Scores({"accuracy": np.ones(5)}, {}), ACCURACY, 0.95) == {}
    assert measure_selective(Scores(rows, {}), Scores(rows, {}), metric, ASKED) is None


def test_answers_are_counted_beside_the_threshold_that_validation_gives() -> None:
    asked = measure_selective(draw_scores(1, 0.0), draw_scores(2, 0.0), ACCURACY, ASKED)
    right = asked.selection.threshold
    assert asked.selection.risk_bound <= 0.1
    assert asked.num_unexpected > 0  # it answers everything
    for moved in (right - 0.05, right + 0.05):
        answers = measure_selective(draw_scores(1, moved), draw_scores(2, moved), ACCURACY, ASKED)
        assert answers.num_unexpected > 0
    kept = measure_selective(draw_scores(1, right), draw_scores(2, right), ACCURACY, ASKED)
    assert kept.num_unexpected == 0
    assert kept.num_wrong / kept.num_answered < 0.1
    assert kept.num_answered == pytest.approx(NUM_ROWS * (1 - right) / 0.5, rel=0.15)
    json.dumps(asdict(kept), allow_nan=False)


def test_without_a_stated_risk_every_row_is_expected_to_be_answered() -> None:
    scores = draw_scores(1, 0.0), draw_scores(2, 0.0)
    answers = measure_selective(*scores, ACCURACY, LIMITS)
    assert (answers.selection, answers.num_unexpected) == (None, 0)
    assert answers.num_answered == NUM_ROWS
