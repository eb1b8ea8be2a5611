"""The candidates, as learners: linear, transformer from scratch, pretrained."""

from plumbline.tasks.text_classification.models.learners import learner

__all__ = ["learner"]
