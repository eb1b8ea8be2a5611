"""The score from which a model answers itself, so that its answers are wrong at a stated rate."""

from dataclasses import dataclass

import numpy as np

# Fixed before any row is seen: a threshold that follows the rows would need another bound.
THRESHOLDS = (
    0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.985,
    0.99, 0.995, 0.998, 0.999,
)  # fmt: skip


@dataclass(frozen=True)
class Selection:
    """A threshold, and how often the answers that reach it are wrong at most."""

    threshold: float
    risk_bound: float  # of the true risk, from above


def choose_threshold(
    scores: np.ndarray, hits: np.ndarray, risk: float, confidence: float
) -> Selection | None:
    """Return the lowest of THRESHOLDS whose answers keep `risk`; None where that is not shown.

    `scores` [rows] are those of the answers, `hits` [rows] is 1 where one is right. A threshold
    keeps the risk if the upper end of Clopper and Pearson's (1934) one-sided interval of the risk
    does. All thresholds together are wrong with a probability of at most 1 - `confidence`: each is
    tested at its share of that (Bonferroni), as "Learn then Test" does (Angelopoulos, Bates,
    Candes, Jordan and Lei 2021, arXiv:2110.01052); Geifman and El-Yaniv (2017, arXiv:1705.08500)
    bound the risk of selective classification in the same way.
    """
    from scipy.stats import beta

    level = (1 - confidence) / len(THRESHOLDS)
    for threshold in THRESHOLDS:
        answered = hits[scores >= threshold]
        num_right = round(float(answered.sum()))
        bound = 1.0
        if num_right:
            bound = float(beta.isf(level, answered.size - num_right + 1, num_right))
        if bound <= risk:
            return Selection(threshold, bound)
    return None
