"""What realisations must be before a model may learn from them, and whether they leak."""

from plumbline.tasks.signal_extraction.expectations.findings import table
from plumbline.tasks.signal_extraction.expectations.leaks import leaks
from plumbline.tasks.signal_extraction.expectations.suite import expectations

__all__ = ["expectations", "leaks", "table"]
