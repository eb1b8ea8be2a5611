"""Which words of a text those that a model is trained on lack."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plumbline.contract.rows import ROW, RowBatches
from plumbline.tasks.text_classification.expectations.each_label import add_counts

if TYPE_CHECKING:
    import pyarrow as pa

NUM_FOLDS = 5
Folds = dict[str, int]  # word -> bit set of the folds that have it


@dataclass(frozen=True)
class Vocabulary:
    """The words of normalised texts, and the share of them that other texts lack.

    `expected` is the share of words that one fold of the texts lacks of the others: how new texts
    of the same origin look.
    """

    words: Mapping[str, int]
    expected: float

    def measure_excess(self, texts: Iterable[str]) -> list[float]:
        """Return for each text its share of unknown words, less what is expected."""
        excess = []
        for text in texts:
            words = text.split()
            num_unknown = sum(word not in self.words for word in words)
            excess.append(_compute_share(num_unknown, len(words)) - self.expected)
        return excess


def build_vocabulary(rows: RowBatches) -> Vocabulary:
    """Return the words of the texts in column `normal`; the number of a row is that of its fold."""
    words = rows.fold(_collect_words, _merge_folds)

    def count_own(batch: "pa.RecordBatch") -> Counter[tuple[int, int]]:
        """Count texts by their words that the other folds lack, and by all."""
        counts: Counter[tuple[int, int]] = Counter()
        for fold, own in _list_words(batch):
            counts[sum(words[word] == fold for word in own), len(own)] += 1
        return counts

    counts = rows.fold(count_own, add_counts)
    shares = (size * _compute_share(*pair) for pair, size in sorted(counts.items()))
    return Vocabulary(words, math.fsum(shares) / max(1, counts.total()))


def _collect_words(batch: "pa.RecordBatch") -> Folds:
    folds: defaultdict[str, int] = defaultdict(int)
    for fold, words in _list_words(batch):
        for word in words:
            folds[word] |= fold
    return dict(folds)


def _merge_folds(one: Folds, other: Folds) -> Folds:
    for word, folds in other.items():
        one[word] = one.get(word, 0) | folds
    return one


def _list_words(batch: "pa.RecordBatch") -> Iterator[tuple[int, list[str]]]:
    """Yield the fold of each row, as a bit set, and the words of its text."""
    for row, text in zip(batch[ROW].to_pylist(), batch["normal"].to_pylist(), strict=True):
        yield 1 << row % NUM_FOLDS, text.split()


def _compute_share(num_some: int, num_all: int) -> float:
    return num_some / num_all if num_all else 0.0
