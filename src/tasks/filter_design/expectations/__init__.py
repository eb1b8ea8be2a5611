"""What specifications must be before a model may learn from them, and whether they leak."""

from tasks.filter_design.expectations.findings import build_table
from tasks.filter_design.expectations.leaks import find_leaks
from tasks.filter_design.expectations.suite import build_checks

__all__ = ["build_checks", "build_table", "find_leaks"]
