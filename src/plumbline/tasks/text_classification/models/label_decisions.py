"""What a model's logits say of rows with one class each, or with a set of labels.

Targets say which of both it is: class indices (rows,), or ones where a row has the label
(rows, classes). Of sets, each label is a decision of its own.
"""

import numpy as np

EVEN = 0.5  # the threshold of a label whose rows are too few to choose another one
MIN_ROWS = 5  # of validation that have the label


def pool_log_probabilities(logits: np.ndarray) -> np.ndarray:
    """Return log probabilities (rows, classes).

    `logits` are (rows, classes) or, of several members, (rows, members, classes): then the mean of
    their probabilities is taken.
    """
    from scipy.special import log_softmax, logsumexp

    log_probabilities: np.ndarray = log_softmax(logits, axis=-1)
    if logits.ndim == 2:
        return log_probabilities
    pooled: np.ndarray = logsumexp(log_probabilities, axis=1) - np.log(logits.shape[1])
    return pooled


def compute_losses(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the negative log likelihood of each row's class, or of its set of labels [rows]."""
    if targets.ndim == 1:
        losses: np.ndarray = -pool_log_probabilities(logits)[np.arange(len(targets)), targets]
        return losses
    signs = 1 - 2 * targets
    losses = np.logaddexp(0, signs * logits).sum(axis=1)
    return losses


def choose_answers(
    logits: np.ndarray, reference_logits: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best class of each row (rows,), or which labels reach their thresholds.

    The second array is of the reference, which has the thresholds of the form when both are served.
    """
    if targets.ndim == 1:
        pooled = pool_log_probabilities(logits), pool_log_probabilities(reference_logits)
        return pooled[0].argmax(axis=1), pooled[1].argmax(axis=1)
    from scipy.special import expit

    probabilities = expit(logits)
    thresholds = choose_label_thresholds(probabilities, targets)
    return probabilities >= thresholds, expit(reference_logits) >= thresholds


def find_equal(answers: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return for which rows two arrays of answers, or of answers and targets, are the same."""
    equal: np.ndarray = answers == others
    return np.asarray(equal.all(axis=1)) if equal.ndim == 2 else equal


def choose_label_thresholds(probabilities: np.ndarray, targets: np.ndarray) -> list[float]:
    """Return for each label the probability from which it is given: that of the best F1.

    Both arrays are (rows, classes). Among equally good ones it is the one closest to EVEN. Rows of
    equal probability are on one side of it.
    """
    columns = zip(probabilities.T, targets.T, strict=True)
    return [_choose_threshold(*column) for column in columns]


def measure_set_answers(
    probabilities: np.ndarray, thresholds: list[float], targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of each answered set [rows], and whether it is the right one."""
    given = probabilities >= thresholds
    confidence: np.ndarray = np.where(given, probabilities, 1 - probabilities).prod(axis=1)
    return confidence, find_equal(given, targets)


def _choose_threshold(probabilities: np.ndarray, targets: np.ndarray) -> float:
    num_positive = targets.sum()
    if num_positive < MIN_ROWS:
        return EVEN
    order = np.argsort(-probabilities, kind="stable")
    ranked = probabilities[order]
    num_given = np.arange(1, len(ranked) + 1)
    scores = 2 * targets[order].cumsum() / (num_given + num_positive)
    cuts = (ranked + np.append(ranked[1:], 0.0)) / 2  # between the last row given and the next
    scores[:-1][ranked[:-1] == ranked[1:]] = -1.0
    best = np.flatnonzero(scores == scores.max())
    return float(min(cuts[best], key=lambda cut: abs(cut - EVEN)))
