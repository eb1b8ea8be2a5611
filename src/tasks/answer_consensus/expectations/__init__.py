"""What records must be before a policy may learn from them, and whether they leak."""

from tasks.answer_consensus.expectations.findings import build_table
from tasks.answer_consensus.expectations.leaks import find_leaks
from tasks.answer_consensus.expectations.suite import build_checks

__all__ = ["build_checks", "build_table", "find_leaks"]
