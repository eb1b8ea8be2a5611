"""The candidates, as learners: BM25, an encoder as it comes, and one that learns from pairs."""

from tasks.retrieval.models.export_comparison import compare_export
from tasks.retrieval.models.learners import build_learner

__all__ = ["build_learner", "compare_export"]
