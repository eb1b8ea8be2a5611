"""Scores of a predictor on one split, whether its rows have one class or a set of labels."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from plumbline.tasks.text_classification.data import has_label_sets
from plumbline.tasks.text_classification.scoring.chosen_metric import add_metric
from plumbline.tasks.text_classification.scoring.scores import score_classes
from plumbline.tasks.text_classification.scoring.set_scores import score_sets


def score(
    examples: Path, split: str, predictor: Predictor, chosen: Mapping[str, Any] | None = None
) -> Scores:
    """Score every example of `split`, by the metric that params have `chosen` too.

    ValueError for answers that are no probabilities.
    """
    score_rows = score_sets if has_label_sets(examples, split) else score_classes
    scores, labels = score_rows(examples, split, predictor)
    return add_metric(scores, labels, chosen) if chosen else scores
