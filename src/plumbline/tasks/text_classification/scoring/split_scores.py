"""Scores of a predictor on one split, whether its rows have one class or a set of labels."""

from pathlib import Path

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from plumbline.tasks.text_classification.data import has_label_sets
from plumbline.tasks.text_classification.scoring.scores import score_classes
from plumbline.tasks.text_classification.scoring.set_scores import score_sets


def score(examples: Path, split: str, predictor: Predictor) -> Scores:
    """Score every example of `split`; ValueError for answers that are no probabilities."""
    if has_label_sets(examples, split):
        return score_sets(examples, split, predictor)
    return score_classes(examples, split, predictor)
