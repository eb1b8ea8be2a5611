"""The candidates, as learners: a rule in closed form, networks on counts, transformers."""

from tasks.sequence_bayes.models.learners import build_learner, compare_export

__all__ = ["build_learner", "compare_export"]
