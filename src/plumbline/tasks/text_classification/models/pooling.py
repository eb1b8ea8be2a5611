"""One distribution from the logits of a model, whether it has one member or several."""

import numpy as np


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
