"""Which words of a text those that a model is trained on lack."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from plumbline.tables.rows import StoredRows

NUM_FOLDS = 5
READ_TRAIN = """SELECT "#row", normal FROM rows WHERE split = 'train' AND {part}"""


@dataclass(frozen=True)
class Vocabulary:
    """The words of normalised texts, and the share of them that other texts lack.

    `expected` is the share of words that one fold of the texts lacks of the others: how new texts
    of the same origin look.
    """

    words: Mapping[str, int]  # word -> bit set of the folds that have it
    expected: float

    def measure_excess(self, texts: Iterable[str]) -> list[float]:
        """Return for each text its share of unknown words, less what is expected."""
        excess = []
        for text in texts:
            words = text.split()
            num_unknown = sum(word not in self.words for word in words)
            excess.append(_compute_share(num_unknown, len(words)) - self.expected)
        return excess


def build_vocabulary(rows: StoredRows) -> Vocabulary:
    """Return the words of train; the number of a row is that of its fold."""
    folds: defaultdict[str, int] = defaultdict(int)
    for fold, words in _list_words(rows):
        for word in words:
            folds[word] |= fold
    counts: Counter[tuple[int, int]] = Counter()  # of texts, by words that other folds lack
    for fold, words in _list_words(rows):
        counts[sum(folds[word] == fold for word in words), len(words)] += 1
    shares = (size * _compute_share(*pair) for pair, size in sorted(counts.items()))
    return Vocabulary(dict(folds), math.fsum(shares) / max(1, counts.total()))


def _list_words(rows: StoredRows) -> Iterator[tuple[int, list[str]]]:
    """Yield the fold of each row, as a bit set, and the words of its text."""
    for batch in rows.read_parts(READ_TRAIN):
        for row, text in zip(batch["#row"].to_pylist(), batch["normal"].to_pylist(), strict=True):
            yield 1 << row % NUM_FOLDS, text.split()


def _compute_share(num_some: int, num_all: int) -> float:
    return num_some / num_all if num_all else 0.0
