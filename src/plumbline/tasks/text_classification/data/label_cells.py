"""How the labels of a row are read from its cells: one, several in a cell, or a column for each."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from plumbline.contract.errors import DataError
from plumbline.tables.jsonl_files import replace_surrogates
from plumbline.tasks.text_classification.data.label_sets import (
    NO_LABEL,
    SEPARATOR,
    join_labels,
    split_labels,
)
from plumbline.tasks.text_classification.data.labels import LabelNames
from plumbline.tasks.text_classification.params import SourceColumns

YES = {"1", "1.0", "true", "yes"}
NO = {"0", "0.0", "false", "no"}


class LabelCell(NamedTuple):
    """What a row says of its labels."""

    text: str  # the cell as it is spelled; of sets, the labels as `join_labels` writes them
    decoded: bool = False  # half of a surrogate pair was replaced in it


class LabelCells:
    """Reads the labels of a row from the cells of its label columns."""

    def __init__(self, columns: SourceColumns) -> None:
        self._names = columns.list_labels()
        self._separator = columns.label_separator
        self.has_sets = columns.has_label_sets
        self.num_cells = len(self._names)

    def read(self, cells: Sequence[str | None], place: str) -> LabelCell | None:
        """Return the labels of a row, None where they are missing; DataError for bad cells."""
        if not self.has_sets:
            label = (cells[0] or "").strip()
            return LabelCell(cells[0] or "") if label else None
        if self._separator is None:
            labels = self._read_flags(cells, place)
        else:
            labels = _split_cell((cells[0] or "").strip(), self._separator, place)
        if labels is None:
            return None
        names = list(map(replace_surrogates, labels))
        for name in names:
            _check_name(name, place, self._separator)
        return LabelCell(join_labels(names), names != labels)

    def name(self, text: str, names: LabelNames) -> str | None:
        """Return the label of a row for what `read` found; None where one of them has no name."""
        named = [names.names.get(label, "") for label in self.list_labels(text)]
        if "" in named:
            return None
        return join_labels(named) if self.has_sets else named[0]

    def list_labels(self, text: str) -> tuple[str, ...]:
        """Return the labels of a row one by one, for what `read` found or `name` made of it."""
        return split_labels(text) if self.has_sets else (text.strip(),)

    def _read_flags(self, cells: Sequence[str | None], place: str) -> list[str] | None:
        """Return the names of the columns that say yes; None where all cells are empty."""
        values = [(cell or "").strip().casefold() for cell in cells]
        if not any(values):
            return None
        labels = []
        for name, value in zip(self._names, values, strict=True):
            if value in YES:
                labels.append(name)
            elif value not in NO:
                raise DataError(
                    f"{place}: {name} is {value[:40]!r}; expected 1 or 0, since "
                    "data.columns.label names a column for each label"
                )
        return labels


def _split_cell(cell: str, separator: str, place: str) -> list[str] | None:
    """Return the labels of a cell: a JSON list, or text with the separator between them."""
    if not cell:
        return None
    if cell.casefold() == NO_LABEL:
        return []
    labels = cell.split(separator)
    if cell.startswith("["):
        try:
            labels = [str(label) if type(label) is int else label for label in json.loads(cell)]
        except (ValueError, RecursionError):
            raise DataError(
                f"{place}: {cell[:40]!r} begins as a JSON list and is none; write it with double "
                f'quotes, ["billing", "refund"], or labels with {separator!r} between them'
            ) from None
    if not all(isinstance(label, str) and label.strip() for label in labels):
        raise DataError(
            f"{place}: {cell[:40]!r} has a label that is empty or not text; write labels with "
            f"{separator!r} between them, or as a JSON list of texts"
        )
    return [label.strip() for label in labels]


def _check_name(label: str, place: str, separator: str | None) -> None:
    if SEPARATOR in label or label.casefold() == NO_LABEL:
        hint = ""
        if separator not in (None, SEPARATOR):
            hint = f", or, if it is several labels, set data.columns.label_separator: {SEPARATOR!r}"
        raise DataError(
            f"{place}: the label {label[:40]!r}: answers have {SEPARATOR!r} between labels, and "
            f"{NO_LABEL} where a row has none; call it something else{hint}"
        )
