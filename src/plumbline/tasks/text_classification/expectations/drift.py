"""How different texts, labels and lengths are from those that a model is, or was, trained on."""

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


def measure_label_distance(one: Counter[str], other: Counter[str]) -> float:
    """Return the total variation distance of two samples of labels: 0 equal, 1 disjoint.

    Samples are how often each label occurs; of an empty one nothing is known, and 0 is returned.
    """
    if not one.total() or not other.total():
        return 0.0
    shares = [one[label] / one.total() - other[label] / other.total() for label in one | other]
    return math.fsum(map(abs, shares)) / 2


def measure_length_distance(one: Counter[int], other: Counter[int]) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples of lengths: 0 equal, 1 disjoint.

    Samples are how often each length occurs.
    """
    if not one.total() or not other.total():
        return 0.0
    largest = 0.0
    num_one, num_other = 0, 0  # up to this length
    for length in sorted(one | other):
        num_one += one[length]
        num_other += other[length]
        largest = max(largest, abs(num_one / one.total() - num_other / other.total()))
    return largest


def _compute_share(num_some: int, num_all: int) -> float:
    return num_some / num_all if num_all else 0.0
