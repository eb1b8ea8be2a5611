"""What sequences must be before a model may learn from them, and whether they leak."""

from tasks.sequence_bayes.expectations.findings import build_table
from tasks.sequence_bayes.expectations.leaks import find_leaks
from tasks.sequence_bayes.expectations.suite import build_checks

__all__ = ["build_checks", "build_table", "find_leaks"]
