"""Metrics of a whole split, such as F1, as values of its rows whose mean is the metric.

Such a metric is not a mean over rows: a row adds more or less by the answers to others. The value
of a row is the metric plus the row's influence, which is the number of rows times the derivative of
the metric by the weight of that row (Hampel 1974). The mean of the values is the metric exactly,
and their spread is its spread to first order (the infinitesimal jackknife: Jaeckel 1972, Efron
1982). Intervals, paired comparisons and power of means hold for these metrics then;
benchmarks/metric_coverage.py shows how often they miss, beside a bootstrap of the rows.

Each function is of one label: `truth` [rows] says which rows have it. ValueError where none has.
"""

import numpy as np

LEAST_ROWS = 5  # to each side of a threshold, of which the precision beside it is taken
NEAREST_PRECISION = 0.05  # so much, at least, it is below the one that is asked for


def compute_f1_values(truth: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return values [rows] whose mean is F1; `given` [rows] says which rows got the label."""
    _check_truth(truth)
    truth, given = truth.astype(float), given.astype(float)
    hits = truth * given
    total = float(truth.mean() + given.mean())
    f1 = 2 * float(hits.mean()) / total
    values: np.ndarray = f1 + (2 * hits - f1 * (truth + given)) / total
    return values


def compute_average_precision_values(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return values [rows] whose mean is average precision, by `scores` [rows] of the label.

    Average precision is the mean, over the rows that have the label, of the precision among all
    rows with a score as high. A row changes its own precision, and that of all rows below it.
    """
    _check_truth(truth)
    ranking = _Ranking(truth, scores)
    precision = ranking.precision
    hits_by_rows = ranking.num_hits_here / ranking.num_rows
    average = float(ranking.num_hits_here @ precision) / ranking.total_hits
    own = precision - average + _sum_from_here(hits_by_rows)
    others = _sum_from_here(hits_by_rows * precision)
    influence = truth * own[ranking.group] - others[ranking.group]
    values: np.ndarray = average + influence * truth.size / ranking.total_hits
    return values


def compute_recall_values(truth: np.ndarray, scores: np.ndarray, precision: float) -> np.ndarray:
    """Return values [rows] whose mean is the recall at `precision`, by `scores` [rows].

    That is the largest recall of all thresholds above which so large a share of the rows has the
    label; 0 where no threshold has. A row that changes the precision moves the threshold, and how
    much recall that costs depends on the precision of the rows next to it (the implicit function
    theorem). These are half as many to each side as the rows of the label, to the power of 0.8,
    since a window for a density shrinks so.
    """
    _check_truth(truth)
    ranking = _Ranking(truth, scores)
    is_kept = ranking.precision >= precision
    if not is_kept.any():
        return np.zeros(truth.size)
    last = int(np.flatnonzero(is_kept)[-1])
    is_above = ranking.group <= last
    recall = float(ranking.num_hits[last]) / ranking.total_hits
    influence = truth * (is_above - recall)
    if recall < 1:
        beside = min(_measure_beside(ranking, last), precision - NEAREST_PRECISION)
        influence -= beside / (beside - precision) * is_above * (truth - precision)
    influence -= influence.mean()  # the precision is reached, hardly ever to the digit
    values: np.ndarray = recall + influence * truth.size / ranking.total_hits
    return values


class _Ranking:
    """Rows by descending score; rows of equal score are one group. Arrays are [groups]."""

    def __init__(self, truth: np.ndarray, scores: np.ndarray) -> None:
        _, self.group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
        self.num_hits_here = np.bincount(self.group, weights=truth, minlength=sizes.size)
        self.num_rows_here = sizes
        self.num_hits = np.cumsum(self.num_hits_here)  # with this score, or a higher one
        self.num_rows = np.cumsum(sizes)
        self.precision = self.num_hits / self.num_rows
        self.total_hits = float(self.num_hits[-1])


def _measure_beside(ranking: _Ranking, last: int) -> float:
    """Return the share of hits among the rows next to the threshold after group `last`."""
    reach = max(LEAST_ROWS, round(0.5 * ranking.total_hits**0.8))
    threshold = ranking.num_rows[last]
    begins = ranking.num_rows - ranking.num_rows_here
    is_near = (ranking.num_rows > threshold - reach) & (begins < threshold + reach)
    hits = ranking.num_hits_here[is_near].sum()
    return float(hits / ranking.num_rows_here[is_near].sum())


def _sum_from_here(values: np.ndarray) -> np.ndarray:
    sums: np.ndarray = np.cumsum(values[::-1])[::-1]
    return sums


def _check_truth(truth: np.ndarray) -> None:
    if not truth.any():
        raise ValueError("no row has the label")
