"""What is expected of examples before a model may learn from them, and what is found when they are looked at."""

from plumbline.tasks.text_classification.expectations.findings import table
from plumbline.tasks.text_classification.expectations.suite import expectations

__all__ = ["expectations", "table"]
