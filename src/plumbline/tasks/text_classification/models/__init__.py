"""The candidates, as learners: linear, transformer from scratch, pretrained."""

from plumbline.tasks.text_classification.models.export_comparison import compare_export
from plumbline.tasks.text_classification.models.learners import build_learner

__all__ = ["build_learner", "compare_export"]
