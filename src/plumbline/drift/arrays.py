"""Columns of arrays as columns of numbers, measures of a signal, or of texts of symbols."""

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
MAX_VALUES = 20  # whole numbers that take no more values are symbols


def find_array_columns(table: "pd.DataFrame") -> list[str]:
    """The names of the columns that hold arrays."""
    return [str(name) for name in table.columns if table[name].map(_is_array).any()]


def find_symbol_columns(table: "pd.DataFrame", columns: list[str]) -> list[str]:
    """Those of `columns` whose items are texts, or whole numbers that take few values.

    Mean and deviation do not exist for texts, and do not see that a symbol becomes another one.
    """
    found = []
    for name in columns:
        items = {item for value in table[name] for item in _read_items(value)}
        is_text = all(isinstance(item, str) for item in items)
        if items and (is_text or (len(items) <= MAX_VALUES and all(map(_is_whole, items)))):
            found.append(name)
    return found


def measure_arrays(table: "pd.DataFrame", columns: list[str], symbols: list[str]) -> "pd.DataFrame":
    """The table with columns of numbers in place of each of `columns`; NaN for no array.

    An array becomes its mean, standard deviation and length; one of `symbols` a text, in which they
    are the words. It may also be given as JSON text, as in a log of requests.
    """
    measured = table.drop(columns=columns)
    for name in columns:
        if name in symbols:
            measured[name] = table[name].map(_join_symbols)
            continue
        rows = [_measure_numbers(value) for value in table[name]]
        for what in MEASURES:
            measured[f"{name} {what}"] = [row[what] for row in rows]
    return measured


def _measure_numbers(value: Any) -> dict[str, float]:
    array = _read_array(value)
    if array is None:
        return dict.fromkeys(MEASURES, np.nan)
    return {what: float(measure(array)) for what, measure in MEASURES.items()}


def _join_symbols(value: Any) -> str | None:
    words = [item if isinstance(item, str) else f"{item:g}" for item in _read_items(value)]
    return " ".join(words) or None


def _read_items(value: Any) -> list[Any]:
    """The items of an array or of its JSON text; nothing for anything else, or where they nest."""
    array = _parse(value)
    if not _is_array(array):
        return []
    items = [item.item() if isinstance(item, np.generic) else item for item in array]
    plain = all(isinstance(item, str | int | float) for item in items)
    return items if plain else []


def _read_array(value: Any) -> np.ndarray | None:
    """The numbers of an array or of its JSON text; None for anything else and for no numbers."""
    value = _parse(value)
    if not _is_array(value):
        return None
    try:
        array = np.asarray(value, float).ravel()
    except (ValueError, TypeError):
        return None
    return array if array.size else None


def _parse(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _is_whole(item: Any) -> bool:
    return isinstance(item, int | float) and float(item).is_integer()


def _is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray)
