"""Draws sequences from the prior.

Shapes: N sequences of T symbols out of V; K components.
"""

import numpy as np

from tasks.sequence_bayes.data.prior import SequencePrior


def draw_sequences(
    prior: SequencePrior, num_rows: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw sequences [N, T] of uint8, each with probabilities of its own; and components [N]."""
    picked = random.choice(len(prior.weights), num_rows, p=prior.weights)
    probabilities = _draw_dirichlets(np.array(prior.alphas)[picked], random)
    bounds = probabilities.cumsum(axis=1)[:, None]
    uniform = random.random((num_rows, prior.length, 1))
    return _pick_symbols(uniform, bounds), picked


def _draw_dirichlets(alphas: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draw from Dirichlets [..., V]: independent gammas, divided by their sum (Devroye 1986)."""
    gammas = np.maximum(random.standard_gamma(alphas), np.finfo(float).tiny)
    drawn: np.ndarray = gammas / gammas.sum(axis=-1, keepdims=True)
    return drawn


def _pick_symbols(uniform: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the first symbol whose cumulative probability [..., V] is above `uniform` [..., 1]."""
    below = (uniform >= bounds[..., :-1]).sum(axis=-1)
    symbols: np.ndarray = below.astype(np.uint8)
    return symbols
