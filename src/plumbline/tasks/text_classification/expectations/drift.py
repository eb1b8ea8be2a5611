"""How different texts, labels and lengths are from those that a model is, or was, trained on."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

NUM_FOLDS = 5


class Vocabulary:
    """The words of normalised texts, and the share of them that other texts lack.

    `expected` is the share of words that one fold of the texts lacks of the others: how new texts
    of the same origin look.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._folds: defaultdict[str, int] = defaultdict(int)  # word -> bit set of its folds
        num_texts = 0
        for row, text in enumerate(texts):
            num_texts += 1
            for word in text.split():
                self._folds[word] |= 1 << row % NUM_FOLDS
        total = math.fsum(self._measure_own(row, text) for row, text in enumerate(texts))
        self.expected = total / num_texts if num_texts else 0.0

    def measure_excess(self, texts: Iterable[str]) -> list[float]:
        """Return for each text its share of unknown words, less what is expected."""
        excess = []
        for text in texts:
            unknown = [word not in self._folds for word in text.split()]
            excess.append(_average(unknown) - self.expected)
        return excess

    def _measure_own(self, row: int, text: str) -> float:
        """Return the share of words that the other folds lack."""
        own_fold = 1 << row % NUM_FOLDS
        return _average([self._folds[word] == own_fold for word in text.split()])


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


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
