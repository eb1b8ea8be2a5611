"""Columns of arrays, such as signals, as three columns of numbers: mean, deviation, length."""

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


def find_array_columns(table: "pd.DataFrame") -> list[str]:
    """The names of the columns that hold arrays."""
    return [str(name) for name in table.columns if table[name].map(_is_array).any()]


def measure_arrays(table: "pd.DataFrame", columns: list[str]) -> "pd.DataFrame":
    """The table with three columns of numbers in place of each of `columns`; NaN for no array.

    An array may also be given as JSON text, as in a log of requests.
    """
    measured = table.drop(columns=columns)
    for name in columns:
        arrays = [_read_array(value) for value in table[name]]
        for what, measure in MEASURES.items():
            measured[f"{name} {what}"] = [
                np.nan if array is None else float(measure(array)) for array in arrays
            ]
    return measured


def _read_array(value: Any) -> np.ndarray | None:
    """The numbers of an array or of its JSON text; None for anything else and for no numbers."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not _is_array(value):
        return None
    try:
        array = np.asarray(value, float).ravel()
    except (ValueError, TypeError):
        return None
    return array if array.size else None


def _is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray)
