"""How far texts, labels and lengths lie from those that a model is, or was, trained on."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

NUM_FOLDS = 5


class Vocabulary:
    """The words of normalised texts, and how new they look to each other: the yardstick for how new others look."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Learn the words of `texts`; `expected` is the share of words that one fold lacks of the others."""
        self._folds: defaultdict[str, int] = defaultdict(
            int
        )  # word -> bit set of the folds it occurs in
        for row, text in enumerate(texts):
            for word in text.split():
                self._folds[word] |= 1 << row % NUM_FOLDS
        alone = [
            _mean(self._folds[word] == 1 << row % NUM_FOLDS for word in text.split())
            for row, text in enumerate(texts)
        ]
        self.expected = _mean(alone)

    def excess(self, texts: Sequence[str]) -> list[float]:
        """For each text its share of unknown words, less what is expected."""
        return [
            _mean(word not in self._folds for word in text.split()) - self.expected
            for text in texts
        ]


def label_distance(one: "pd.Series", other: "pd.Series") -> float:
    """Total variation distance between two samples of labels: 0 the same, 1 nothing in common."""
    difference = one.value_counts(normalize=True).sub(
        other.value_counts(normalize=True), fill_value=0
    )
    return float(difference.abs().sum() / 2)


def length_distance(one: "pd.Series", other: "pd.Series") -> float:
    """Kolmogorov-Smirnov distance between two samples of lengths: 0 the same, 1 nothing in common."""
    from scipy.stats import ks_2samp

    return float(ks_2samp(one, other, method="asymp").statistic) if len(one) and len(other) else 0.0


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
