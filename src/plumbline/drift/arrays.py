"""Columns of arrays as columns of numbers: measures of a signal, or shares of frequent values."""

import json
from collections import Counter
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
MAX_VALUES = 20  # whole numbers that take no more values are symbols; of texts, so many are counted
OTHER = "any other value"


def find_array_columns(table: "pd.DataFrame") -> list[str]:
    """The names of the columns that hold arrays."""
    return [str(name) for name in table.columns if table[name].map(_is_array).any()]


def find_values(table: "pd.DataFrame", columns: list[str]) -> dict[str, list[Any]]:
    """The most frequent items of each of `columns` that holds texts or few whole numbers.

    Mean and deviation do not exist for texts, and do not see that a symbol becomes another one.
    """
    values: dict[str, list[Any]] = {}
    for name in columns:
        counts: Counter[Any] = Counter()
        for value in table[name]:
            counts.update(_read_items(value))
        items = list(counts)
        is_text = bool(items) and all(isinstance(item, str) for item in items)
        if is_text or (0 < len(items) <= MAX_VALUES and all(_is_whole(item) for item in items)):
            frequent = sorted(items, key=lambda item: (-counts[item], item))
            values[name] = frequent[:MAX_VALUES]
    return values


def measure_arrays(
    table: "pd.DataFrame", columns: list[str], values: dict[str, list[Any]]
) -> "pd.DataFrame":
    """The table with columns of numbers in place of each of `columns`; NaN for no array.

    For a column in `values`, the share of each value in the array, of all others, and its length;
    else mean, standard deviation and length. An array may also be given as JSON text, as in a log
    of requests.
    """
    measured = table.drop(columns=columns)
    for name in columns:
        if name in values:
            rows = [_measure_shares(value, values[name]) for value in table[name]]
        else:
            rows = [_measure_numbers(value) for value in table[name]]
        for what in rows[0] if rows else ():
            measured[f"{name} {what}"] = [row[what] for row in rows]
    return measured


def _measure_numbers(value: Any) -> dict[str, float]:
    array = _read_array(value)
    if array is None:
        return dict.fromkeys(MEASURES, np.nan)
    return {what: float(measure(array)) for what, measure in MEASURES.items()}


def _measure_shares(value: Any, frequent: list[Any]) -> dict[str, float]:
    """The share of each frequent item in the array, of all others, and the length."""
    items = _read_items(value)
    names = [f"share of {item}" for item in frequent]
    if not items:
        return dict.fromkeys([*names, f"share of {OTHER}", "length"], np.nan)
    counts = Counter(items)
    shares = [counts[item] / len(items) for item in frequent]
    other = (len(items) - sum(counts[item] for item in frequent)) / len(items)
    measured = dict(zip(names, shares, strict=True))
    return measured | {f"share of {OTHER}": other, "length": float(len(items))}


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
