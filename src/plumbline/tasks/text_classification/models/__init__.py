"""The candidates, as learners: linear, transformer from scratch, pretrained."""

from plumbline.tasks.text_classification.models.learners import build_learner

__all__ = ["build_learner"]
