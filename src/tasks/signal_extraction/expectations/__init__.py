"""What realisations must be before a model may learn from them, and whether they leak."""

from tasks.signal_extraction.expectations.findings import build_table
from tasks.signal_extraction.expectations.leaks import find_leaks
from tasks.signal_extraction.expectations.suite import build_checks

__all__ = ["build_checks", "build_table", "find_leaks"]
