"""The candidates, as learners: the textbook, Bayesian optimisation, and networks that propose."""

from tasks.filter_design.models.learners import build_learner, compare_export

__all__ = ["build_learner", "compare_export"]
