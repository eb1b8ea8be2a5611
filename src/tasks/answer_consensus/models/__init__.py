"""The candidates: fixed votes, and policies that learn whom to ask and when to stop."""

from tasks.answer_consensus.models.learners import build_learner, compare_export

__all__ = ["build_learner", "compare_export"]
