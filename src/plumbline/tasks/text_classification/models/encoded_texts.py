"""The rows of a split as a model reads them: encoded once, then read batch by batch."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch.utils.data import Dataset

from plumbline.encoders.halves import Batch
from plumbline.tasks.text_classification.data.label_sets import mark_labels, split_labels
from plumbline.tasks.text_classification.models.texts import LabelledTexts
from plumbline.tasks.text_classification.predictor import EncodedText

Part = tuple[list[EncodedText], np.ndarray]  # some texts, and their targets


class TextEncoder(Protocol):
    """Encodes texts as the predictor does."""

    def encode_texts(self, texts: Sequence[str]) -> list[EncodedText]:
        """Return ids and, for each, a number."""
        ...


class EncodedTexts(Dataset[Batch]):
    """Texts as arrays of token ids (`names[0]`) and of a number for each id (`names[1]`).

    Rows lie one behind the other, so that each takes what its own tokens take. Where the numbers
    are whole, all of them are 1, and none is kept.
    """

    def __init__(self, names: tuple[str, str], parts: Iterable[Part]) -> None:
        self.names = names
        lengths, ids, values, targets = [], [], [], []
        for encoded, own in parts:
            lengths += [len(row) for row, _ in encoded]
            ids.append(np.concatenate([row for row, _ in encoded]).astype(np.int32))
            values += [numbers for _, numbers in encoded if numbers.dtype == np.float32]
            targets.append(own)
        self.lengths = np.array(lengths, np.int32)
        self.ids = np.concatenate(ids)
        # Class indices (rows,), or of sets ones where a row has the label (rows, classes).
        self.targets = np.concatenate(targets)
        self._values = np.concatenate(values) if values else None
        self._starts = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        # (rows, members): how often each member of an ensemble learns from a row.
        self.row_weights: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.lengths)

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
        ids[is_text] = self.ids[cells]
        values = is_text.astype(np.int64)
        if self._values is not None:
            values = np.zeros(is_text.shape, np.float32)
            values[is_text] = self._values[cells]
        batch = {
            self.names[0]: torch.from_numpy(ids),
            self.names[1]: torch.from_numpy(values),
            "labels": torch.from_numpy(self.targets[rows]),
        }
        if self.row_weights is not None:
            batch["row_weights"] = torch.from_numpy(self.row_weights[rows].astype(np.float32))
        return batch


def encode_split(
    names: tuple[str, str], split: LabelledTexts, classes: list[str], encoder: TextEncoder
) -> EncodedTexts:
    """Encode the texts of a split, and its labels as indices or sets of `classes`."""
    index = {label: number for number, label in enumerate(classes)}

    def encode_parts() -> Iterator[Part]:
        for texts, labels in split.iterate_rows():
            if split.has_sets:
                sets = [split_labels(text) for text in labels]
                targets = mark_labels(sets, classes).astype(np.float32)
            else:
                targets = np.array([index[label] for label in labels])
            yield encoder.encode_texts(texts), targets

    return EncodedTexts(names, encode_parts())
