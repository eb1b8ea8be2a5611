"""Arrays, such as signals, by what a single number says of each: mean, standard deviation, length."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MEASURES: dict[str, Callable[[np.ndarray], Any]] = {
    "mean": np.mean,
    "standard deviation": np.std,
    "length": np.size,
}


def names(table: "pd.DataFrame") -> list[str]:
    """The columns that hold arrays."""
    return [str(name) for name in table.columns if table[name].map(_is_array).any()]


def measured(table: "pd.DataFrame", columns: list[str]) -> "pd.DataFrame":
    """The table with three columns of numbers in the place of each of `columns`; NaN where there is no array.

    An array may stand there as JSON, as in a log of requests.
    """
    found = table.drop(columns=columns)
    for name in columns:
        arrays = [_array(value) for value in table[name]]
        for what, measure in MEASURES.items():
            found[f"{name} {what}"] = [
                np.nan if array is None else float(measure(array)) for array in arrays
            ]
    return found


def _array(value: Any) -> np.ndarray | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not _is_array(value):
        return None
    try:
        found = np.asarray(value, float).ravel()
    except (ValueError, TypeError):
        return None
    return found if found.size else None


def _is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray)
