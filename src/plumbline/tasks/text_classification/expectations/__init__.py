"""What examples must fulfil before a model may learn from them, and what is found in them."""

from plumbline.tasks.text_classification.expectations.findings import build_table
from plumbline.tasks.text_classification.expectations.leaks import find_leaks
from plumbline.tasks.text_classification.expectations.suite import build_checks

__all__ = ["build_checks", "build_table", "find_leaks"]
