"""The candidates, as learners: a bank of FIR filters in closed form, and three LSTMs."""

from tasks.signal_extraction.models.learners import build_learner, compare_export

__all__ = ["build_learner", "compare_export"]
