"""How different texts, labels and lengths are from those that a model is, or was, trained on."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

NUM_FOLDS = 5


class Vocabulary:
    """The words of normalised texts, and the share of them that other texts lack.

    `expected` is the share of words that one fold of the texts lacks of the others: how new texts
    of the same origin look.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._folds: defaultdict[str, int] = defaultdict(int)  # word -> bit set of its folds
        for row, text in enumerate(texts):
            for word in text.split():
                self._folds[word] |= 1 << row % NUM_FOLDS
        shares = []
        for row, text in enumerate(texts):
            own_fold = 1 << row % NUM_FOLDS
            shares.append(_average([self._folds[word] == own_fold for word in text.split()]))
        self.expected = _average(shares)

    def measure_excess(self, texts: Sequence[str]) -> list[float]:
        """Return for each text its share of unknown words, less what is expected."""
        excess = []
        for text in texts:
            unknown = [word not in self._folds for word in text.split()]
            excess.append(_average(unknown) - self.expected)
        return excess


def measure_label_distance(one: "pd.Series", other: "pd.Series") -> float:
    """Return the total variation distance of two samples of labels: 0 equal, 1 disjoint."""
    one_shares = one.value_counts(normalize=True)
    other_shares = other.value_counts(normalize=True)
    return float(one_shares.sub(other_shares, fill_value=0).abs().sum() / 2)


def measure_length_distance(one: "pd.Series", other: "pd.Series") -> float:
    """Return the Kolmogorov-Smirnov distance of two samples of lengths: 0 equal, 1 disjoint."""
    from scipy.stats import ks_2samp

    if not len(one) or not len(other):
        return 0.0
    return float(ks_2samp(one, other, method="asymp").statistic)


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
