"""Columns of arrays as columns of numbers, measures of a signal, or of texts of symbols."""

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MEASURES: dict[str, Callable[[list[float]], Any]] = {
    "mean": np.mean,
    "standard deviation": np.std,
    "length": len,
}
MAX_VALUES = 20  # whole numbers that take no more values are symbols


def unfold_arrays(reference: "pd.DataFrame", current: "pd.DataFrame") -> None:
    """Put other columns in the place of those in which `reference` has arrays, in both tables.

    An array becomes its mean, standard deviation and length (NaN for no array). Where the items are
    texts, or whole numbers that take few values, it becomes a text of them: mean and deviation do
    not see that a symbol becomes another one. It may also be JSON text, as in a log of requests.
    """
    for name in list(reference.columns):
        if not reference[name].map(_is_array).any():
            continue
        old, new = (table.pop(name).map(_read_items) for table in (reference, current))
        has_symbols = _is_symbolic(old)
        for table, rows in ((reference, old), (current, new)):
            if has_symbols:
                table[name] = rows.map(_join_symbols)
                continue
            for what, measure in MEASURES.items():
                table[f"{name} {what}"] = [_measure(items, measure) for items in rows]


def _is_symbolic(rows: Iterable[list[Any]]) -> bool:
    items: set[Any] = set()
    for row in rows:
        items.update(row)
    is_text = all(isinstance(item, str) for item in items)
    is_whole = all(isinstance(item, int | float) and item % 1 == 0 for item in items)
    return bool(items) and (is_text or (is_whole and len(items) <= MAX_VALUES))


def _join_symbols(items: list[Any]) -> str | None:
    words = [item if isinstance(item, str) else f"{item:g}" for item in items]
    return " ".join(words) or None


def _measure(items: list[Any], measure: Callable[[list[float]], Any]) -> float:
    is_measured = items and not any(isinstance(item, str) for item in items)
    return float(measure(items)) if is_measured else np.nan


def _read_items(value: Any) -> list[Any]:
    """Return texts or numbers of an array, or of its JSON text; nothing of what has others."""
    try:
        array = json.loads(value) if isinstance(value, str) else value
        items = np.ravel(np.asarray(array, object)).tolist() if _is_array(array) else []
    except (ValueError, RecursionError):
        return []
    return items if all(isinstance(item, str | int | float) for item in items) else []


def _is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray)
