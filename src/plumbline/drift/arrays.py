"""Columns of arrays as columns of numbers, measures of a signal, or of texts of symbols."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MEASURES: dict[str, Callable[[Any], Any]] = {
    "mean": np.mean,
    "standard deviation": np.std,
    "length": len,
}
MAX_VALUES = 20  # whole numbers that take no more values are symbols


def unfold_arrays(reference: "pd.DataFrame", current: "pd.DataFrame") -> None:
    """Put other columns in the place of those in which `reference` has arrays, in both tables.

    An array becomes its mean, standard deviation and length (NaN for no array, or where an item of
    it is missing). Where the items are texts, or whole numbers that take few values, it becomes a
    text of them: mean and deviation do not see that a symbol becomes another one. It may also be
    JSON text, as in a log of requests, and numbers may be texts.
    """
    for name in list(reference.columns):
        if not reference[name].map(_is_array).any():
            continue
        old, new = (table.pop(name).map(_read_items) for table in (reference, current))
        numbers = old.map(_parse_numbers)
        if not numbers.explode().map(_is_text).any():
            old, new = numbers, new.map(_parse_numbers)
        has_symbols = _is_symbolic(set(old.explode().dropna()))
        for table, rows in ((reference, old), (current, new)):
            if has_symbols:
                table[name] = rows.map(_join_symbols)
                continue
            for what, measure in MEASURES.items():
                table[f"{name} {what}"] = [_measure(items, measure) for items in rows]


def _is_symbolic(items: set[Any]) -> bool:
    is_whole = all(isinstance(item, float) and item % 1 == 0 for item in items)
    return bool(items) and (all(map(_is_text, items)) or (is_whole and len(items) <= MAX_VALUES))


def _join_symbols(items: list[Any]) -> str | None:
    return " ".join(str(item).removesuffix(".0") for item in items) or None


def _measure(items: list[Any], measure: Callable[[Any], Any]) -> float:
    is_measured = items and not any(map(_is_text, items))
    return float(measure(items)) if is_measured else np.nan


def _read_items(value: Any) -> list[Any]:
    """Return texts, numbers and None of an array, or of its JSON text; nothing of other arrays."""
    try:
        array = json.loads(value) if isinstance(value, str) else value
        items = np.ravel(np.asarray(array, object)).tolist() if _is_array(array) else []
    except (ValueError, RecursionError):
        return []
    return items if all(isinstance(item, str | int | float | None) for item in items) else []


def _parse_numbers(items: list[Any]) -> list[Any]:
    try:
        return list(np.array(items, float))  # NaN for None
    except (ValueError, OverflowError):
        return items


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray)
