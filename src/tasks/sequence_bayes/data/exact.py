"""The exact Bayesian answer: what an observer predicts that knows the prior.

Conjugacy of Dirichlet and multinomial gives all of it in closed form (Gelman et al. 2013, Bayesian
Data Analysis, sections 3.4 and 5.3; Minka 2000, "Estimating a Dirichlet distribution").

Shapes: N sequences of T symbols out of V; K components.
"""

import numpy as np

from tasks.sequence_bayes.data.prior import SequencePrior
from tasks.sequence_bayes.predictor import compute_entropy, count_symbols


def compute_predictive(prior: SequencePrior, sequences: np.ndarray) -> np.ndarray:
    """Return the probability of each next symbol after 0, 1, ... T symbols [N, T + 1, V]."""
    alphas = np.array(prior.alphas)
    counts = count_symbols(sequences, prior.num_symbols)
    seen = np.arange(counts.shape[1])[:, None]
    posterior = _compute_posterior(prior, sequences, counts)
    predictive = np.zeros(counts.shape)
    for component, alpha in enumerate(alphas):
        own = (counts + alpha) / (seen + alpha.sum())
        predictive += posterior[:, :, component, None] * own
    return predictive


def compute_log_probability(prior: SequencePrior, sequences: np.ndarray) -> np.ndarray:
    """Return the log of the exact marginal probability of each sequence [N], in nats."""
    predictive = compute_predictive(prior, sequences)[:, :-1]
    logs: np.ndarray = np.log(pick_realised(predictive, sequences)).sum(axis=1)
    return logs


def pick_realised(predictive: np.ndarray, sequences: np.ndarray) -> np.ndarray:
    """Return the probability of the symbol that came [N, T], out of [N, T, V]."""
    places = sequences[:, :, None].astype(int)
    picked: np.ndarray = np.take_along_axis(predictive, places, axis=2)[:, :, 0]
    return picked


def compute_epistemic(prior: SequencePrior, sequences: np.ndarray) -> np.ndarray:
    """Return the part of the doubt about the next symbol that more data would remove [N], in nats.

    It is the mutual information of the next symbol and the unknown probabilities: the entropy of
    the predictive less the expected entropy given the probabilities.
    """
    predictive = compute_predictive(prior, sequences)[:, -1]
    gain: np.ndarray = compute_entropy(predictive) - _compute_expected_entropy(prior, sequences)
    return gain


def _compute_posterior(
    prior: SequencePrior, sequences: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Return the posterior weight of each component after 0, 1, ... T symbols [N, T + 1, K]."""
    seen = np.arange(sequences.shape[1])
    logs = np.zeros((*counts.shape[:2], len(prior.weights)))
    before = pick_realised(counts[:, :-1], sequences)
    for component, alpha in enumerate(np.array(prior.alphas)):
        steps = np.log(before + alpha[sequences]) - np.log(seen + alpha.sum())
        logs[:, 1:, component] = steps.cumsum(axis=1)
    logs += np.log(prior.weights)
    weights: np.ndarray = np.exp(logs - logs.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    return weights


def _compute_expected_entropy(prior: SequencePrior, sequences: np.ndarray) -> np.ndarray:
    """Return the expectation of the entropy under the posterior of the probabilities [N]."""
    alphas = np.array(prior.alphas)
    counts = count_symbols(sequences, prior.num_symbols)
    weights = _compute_posterior(prior, sequences, counts)[:, -1]
    entropies = [_compute_dirichlet_entropy(counts[:, -1] + alpha) for alpha in alphas]
    expected: np.ndarray = (weights * np.stack(entropies, axis=1)).sum(axis=1)
    return expected


def _compute_dirichlet_entropy(alphas: np.ndarray) -> np.ndarray:
    """Return the mean entropy of a draw from Dirichlets [N, V] (Wolpert and Wolf 1995)."""
    from scipy.special import digamma

    total = alphas.sum(axis=1)
    mean = (alphas / total[:, None] * digamma(alphas + 1)).sum(axis=1)
    entropies: np.ndarray = digamma(total + 1) - mean
    return entropies
