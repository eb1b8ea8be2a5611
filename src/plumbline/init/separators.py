"""Whether cells hold several labels, as far as the values of one column show it plainly."""

import json
from collections import defaultdict
from collections.abc import Mapping

SEPARATORS = ("|", ";", ",")
DECIMAL_COMMA = ","
OF_LISTS = "|"  # params name one for JSON lists too
MIN_SHARE = 0.5  # of the rows whose cell has the separator


def find_separator(values: Mapping[str, int]) -> str | None:
    """Return what is between the labels of a cell; None: each cell is one label.

    `values` maps the values of a column to their rows.
    """
    if values and all(map(_is_list, values)):
        return OF_LISTS
    for separator in SEPARATORS:
        if _is_separator(values, separator):
            return separator
    return None


def split_cell(cell: str, separator: str) -> list[str]:
    """Return the labels of a cell with a separator that `find_separator` found."""
    labels = json.loads(cell) if _is_list(cell) else cell.split(separator)
    return [str(label).strip() for label in labels]


def _is_list(value: str) -> bool:
    """Whether a cell is a JSON list of texts or whole numbers."""
    if not value.strip().startswith("["):
        return False
    try:
        items = json.loads(value)
    except (ValueError, RecursionError):
        return False
    return all(isinstance(item, str | int) for item in items)


def _is_separator(values: Mapping[str, int], separator: str) -> bool:
    """Whether most cells with the separator are made of labels that combine freely.

    Such a label is also alone in a cell, or at another place in one. The parts of a name that has
    the separator in it, of a path (`phones|cables`) or of two attributes (`high|billing`) are not.
    """
    cells = {value: [part.strip() for part in value.split(separator)] for value in values}
    several = [value for value, parts in cells.items() if len(parts) > 1]
    places: defaultdict[str, set[int]] = defaultdict(set)
    for parts in cells.values():
        for place, part in enumerate(parts):
            places[part].add(place if len(parts) > 1 else -1)
    free = {part for part, own in places.items() if part and (-1 in own or len(own) > 1)}
    sets = [value for value in several if free.issuperset(cells[value])]
    if separator == DECIMAL_COMMA and all(map(_is_decimal, sets)):
        return False
    return sum(values[value] for value in sets) > MIN_SHARE * sum(values[v] for v in several)


def _is_decimal(cell: str) -> bool:
    """Whether a cell may be a number with a decimal comma."""
    whole, _, rest = cell.partition(DECIMAL_COMMA)
    return whole.strip().isdecimal() and rest.isdecimal()
