"""The candidates, as learners: a bank of FIR filters in closed form, and three LSTMs."""

from plumbline.tasks.signal_extraction.models.learners import learner

__all__ = ["learner"]
