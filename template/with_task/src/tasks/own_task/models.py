"""The candidates, as in text classification."""

from plumbline.tasks.text_classification.models import build_learner, compare_export

__all__ = ["build_learner", "compare_export"]
