"""What a predictor is asked: the specification."""

from pathlib import Path
from typing import Any

from tasks.filter_design.data.specifications import list_columns
from tasks.filter_design.data.storage import read_specifications


def read_inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """Return the predictor's columns for one split, in order."""
    return list_columns(read_specifications(examples, split))
