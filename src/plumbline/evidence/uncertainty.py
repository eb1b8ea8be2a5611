"""What a model says of its own doubt, held against its errors: their order, and when it abstains.

Scores of a task may hold, for each row, `confidence`, or both `epistemic` and `aleatoric` (nats),
and `answered`: 1 where the model answers itself, 0 where it leaves the row to a person.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plumbline.contract.params import Evaluation
from plumbline.contract.records import Scores
from plumbline.contract.task import Metric
from plumbline.statistics.error_ordering import ErrorOrdering, measure_error_ordering
from plumbline.statistics.selection import Selection, choose_threshold

ROUNDING = 1e-5  # by which a score may be on the other side of a threshold elsewhere
PLACES = 9  # of an uncertainty in nats: what is beyond is rounding, and grows with the entropy


@dataclass(frozen=True)
class SelectiveAnswers:
    """Which test rows a model answers itself, and how often it is wrong there."""

    selection: Selection | None  # by the validation rows; None: no risk is asked for, or none kept
    num_unexpected: int  # rows of both splits that it answers, or not, against that threshold
    num_rows: int
    num_answered: int
    num_wrong: int


def measure_orderings(
    scores: Scores, metric: Metric, confidence: float
) -> dict[str, ErrorOrdering]:
    """Measure how each kind of uncertainty in `scores` orders the errors; empty without any.

    An ensemble has `epistemic` and `total`, the sum of both parts; any other model `confidence`,
    of which 1 less the confidence is the uncertainty.
    """
    hits = read_hits(scores, metric)
    if hits is None:
        return {}
    return {
        name: measure_error_ordering(np.round(values, PLACES), 1 - hits, confidence)
        for name, values in _list_uncertainties(scores).items()
    }


def measure_selective(
    validation: Scores, test: Scores, metric: Metric, limits: Evaluation
) -> SelectiveAnswers | None:
    """Choose the threshold again by validation, and count the answers on test.

    None where the task does not say which rows a model answers.
    """
    answered = test.per_example.get("answered")
    hits = read_hits(test, metric)
    on_validation = read_hits(validation, metric)
    if answered is None or hits is None or on_validation is None:
        return None
    selection = None
    if limits.selective is not None:
        stated = validation.per_example["confidence"]
        selection = choose_threshold(
            stated, on_validation, limits.selective.risk, limits.confidence
        )
    threshold = selection.threshold if selection else 0.0
    num_answered = round(float(answered.sum()))
    num_wrong = num_answered - round(float(hits[answered > 0].sum()))
    return SelectiveAnswers(
        selection=selection,
        num_unexpected=sum(_count_unexpected(scores, threshold) for scores in (validation, test)),
        num_rows=answered.size,
        num_answered=num_answered,
        num_wrong=num_wrong,
    )


def read_hits(scores: Scores, metric: Metric) -> np.ndarray | None:
    """Return which answers are right, 1 or 0 [rows]; None where the scores do not say."""
    hits = scores.per_example.get("correct")
    if hits is None and metric.kind == "binary":
        hits = scores.per_example[metric.name]
    return hits


def _list_uncertainties(scores: Scores) -> Mapping[str, np.ndarray]:
    rows = scores.per_example
    if "epistemic" in rows and "aleatoric" in rows:
        return {"epistemic": rows["epistemic"], "total": rows["epistemic"] + rows["aleatoric"]}
    if "confidence" in rows:
        return {"confidence": 1 - rows["confidence"]}
    return {}


def _count_unexpected(scores: Scores, threshold: float) -> int:
    """Count the rows that are answered below `threshold`, or not answered above it."""
    stated = scores.per_example["confidence"]
    answered = scores.per_example["answered"] > 0
    is_clear = np.abs(stated - threshold) > ROUNDING
    return int((is_clear & (answered != (stated >= threshold))).sum())
