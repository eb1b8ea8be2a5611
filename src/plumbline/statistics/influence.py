"""Metrics of a whole split, such as F1, as values of its rows whose mean is the metric.

Such a metric is not a mean over rows: a row adds more or less by the answers to others. The value
of a row is the metric plus the row's influence, which is the number of rows times the derivative of
the metric by the weight of that row (Hampel 1974). The mean of the values is the metric exactly,
and their spread is its spread to first order (the infinitesimal jackknife: Jaeckel 1972, Efron
1982). Intervals, paired comparisons and power of means hold for these metrics then;
benchmarks/metric_coverage.py shows how often they miss.

Each function is of one label: `truth` [rows] says which rows have it. ValueError where none has.
"""

import numpy as np


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
    # Rows by descending score; rows of equal score are one group. Arrays are [groups].
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    num_rows = np.cumsum(sizes)  # with this score, or a higher one
    hits = np.bincount(group, weights=truth, minlength=sizes.size)
    total = float(hits.sum())
    precision = np.cumsum(hits) / num_rows
    average = float(hits @ precision) / total
    own = precision - average + _sum_from_here(hits / num_rows)
    others = _sum_from_here(hits / num_rows * precision)
    influence = truth * own[group] - others[group]
    values: np.ndarray = average + influence * truth.size / total
    return values


def _sum_from_here(values: np.ndarray) -> np.ndarray:
    sums: np.ndarray = np.cumsum(values[::-1])[::-1]
    return sums


def _check_truth(truth: np.ndarray) -> None:
    if not truth.any():
        raise ValueError("no row has the label")
