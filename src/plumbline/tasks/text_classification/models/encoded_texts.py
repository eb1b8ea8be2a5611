"""The rows of a split as a model reads them: encoded once, then read from files batch by batch."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch.utils.data import Dataset

from plumbline.contract.array_files import ArrayWriter, StoredArray
from plumbline.tasks.text_classification.data.label_sets import split_labels
from plumbline.tasks.text_classification.models.label_decisions import encode_sets
from plumbline.tasks.text_classification.models.texts import LabelledTexts
from plumbline.tasks.text_classification.predictor import EncodedText

# Rows that are read before their pages are given back: one that is read maps up to 16 pages.
KEPT_ROWS = 1024

Batch = dict[str, torch.Tensor]
Part = tuple[list[EncodedText], np.ndarray]  # some texts, and their targets


class TextEncoder(Protocol):
    """Encodes texts as the predictor does."""

    def encode_texts(self, texts: Sequence[str]) -> list[EncodedText]:
        """Return ids and, for each, a number."""
        ...


class EncodedTexts(Dataset[Batch]):
    """Texts as arrays of token ids (`names[0]`) and of a number for each id (`names[1]`).

    Ids, numbers and targets lie in files; in memory are two numbers a row, its length and where it
    begins. Without `values` each number is 1.
    """

    def __init__(
        self,
        names: tuple[str, str],
        ids: StoredArray,
        values: StoredArray | None,
        targets: StoredArray,
        lengths: np.ndarray,
    ) -> None:
        self.names = names
        self._ids = ids
        self._values = values
        self._targets = targets
        self.lengths = lengths
        self._starts = np.cumsum(lengths, dtype=np.int64) - lengths
        # (rows, members): how often each member of an ensemble learns from a row.
        self.row_weights: np.ndarray | None = None
        self._num_read = 0

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def targets(self) -> np.ndarray:
        """Class indices (rows,), or of sets ones where a row has the label (rows, classes)."""
        return self._targets.rows

    def read_rows(self, rows: Sequence[int]) -> list[EncodedText]:
        """Return ids and numbers of some rows, as the predictor encodes them."""
        texts = []
        for row in rows:
            cells = self._starts[row] + np.arange(self.lengths[row])
            ids = self._ids.rows[cells].astype(np.int64)
            values = np.ones_like(ids) if self._values is None else self._values.rows[cells]
            texts.append((ids, values))
        return texts

    def __getitems__(self, rows: list[int]) -> Batch:
        """Tensors of shape (rows, tokens of the longest), padded with 0, and `labels` (rows,).

        Of sets, `labels` are (rows, classes), float32. Where rows have weights, also `row_weights`
        (rows, members).
        """
        lengths = self.lengths[rows]
        columns = np.arange(lengths.max())
        is_text = columns < lengths[:, None]
        cells = (self._starts[rows][:, None] + columns)[is_text]
        ids = np.zeros(is_text.shape, np.int64)
        ids[is_text] = self._ids.rows[cells]
        values = is_text.astype(np.int64)
        if self._values is not None:
            values = np.zeros(is_text.shape, self._values.rows.dtype)
            values[is_text] = self._values.rows[cells]
        batch = {
            self.names[0]: torch.from_numpy(ids),
            self.names[1]: torch.from_numpy(values),
            "labels": torch.from_numpy(self._targets.rows[rows]),
        }
        self._release_memory(len(rows))
        if self.row_weights is not None:
            batch["row_weights"] = torch.from_numpy(self.row_weights[rows].astype(np.float32))
        return batch

    def find_ids(self) -> np.ndarray:
        """Return each id that a row has, once, in ascending order."""
        found = np.empty(0, np.int64)
        for block in self._ids.iterate_blocks():
            found = np.union1d(found, block)
        return found

    def _release_memory(self, num_rows: int) -> None:
        self._num_read += num_rows
        if self._num_read < KEPT_ROWS:
            return
        self._num_read = 0
        for array in (self._ids, self._values, self._targets):
            if array is not None:
                array.release_memory()


def store_encoded(names: tuple[str, str], encoded: list[EncodedText]) -> EncodedTexts:
    """Return texts that are encoded already, without labels: every target is 0."""
    has_values = encoded[0][1].dtype == np.float32
    return _store(names, [(encoded, np.zeros(len(encoded), np.int64))], np.int64, has_values)


def encode_split(
    names: tuple[str, str],
    split: LabelledTexts,
    classes: list[str],
    encoder: TextEncoder,
    *,
    has_values: bool,
) -> EncodedTexts:
    """Encode the texts of a split, and its labels as indices or sets of `classes`.

    Without `has_values` the number of each id is 1, and is not stored.
    """
    index = {label: number for number, label in enumerate(classes)}

    def encode_parts() -> Iterator[Part]:
        for texts, labels in split.iterate_rows():
            if split.has_sets:
                targets = encode_sets([split_labels(text) for text in labels], classes)
            else:
                targets = np.array([index[label] for label in labels])
            yield encoder.encode_texts(texts), targets

    return _store(names, encode_parts(), np.float32 if split.has_sets else np.int64, has_values)


def _store(
    names: tuple[str, str], parts: Iterable[Part], target_type: type, has_values: bool
) -> EncodedTexts:
    """Write encoded texts and their targets to files, part by part."""
    lengths = [np.empty(0, np.int32)]
    with (
        ArrayWriter(np.int32) as ids,
        ArrayWriter(np.float32) as values,
        ArrayWriter(target_type) as stored_targets,
    ):
        for encoded, targets in parts:
            lengths.append(np.array([len(row) for row, _ in encoded], np.int32))
            ids.append(np.concatenate([row for row, _ in encoded]))
            if has_values:
                values.append(np.concatenate([numbers for _, numbers in encoded]))
            stored_targets.append(targets)
        return EncodedTexts(
            names,
            ids.finish(),
            values.finish() if has_values else None,
            stored_targets.finish(),
            np.concatenate(lengths),
        )
