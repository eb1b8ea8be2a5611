"""The conditional logit (McFadden 1974), fitted to which of several answers is right.

Shapes: N choices of up to E elements, each described by P features.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Choices:
    """Choices to learn from: which elements exist, `mask` [N, E], and which is `right` [N]."""

    features: np.ndarray  # [N, E, P]
    mask: np.ndarray
    right: np.ndarray
    counts: np.ndarray  # how often each choice occurred [N]


def fit_choice_model(choices: Choices, ridge: float, start: np.ndarray) -> np.ndarray:
    """Return the weights [P] with the greatest mean log likelihood, less ridge / 2 times squares.

    By L-BFGS (Liu and Nocedal 1989) from `start`; the problem is convex.
    """
    from scipy.optimize import minimize

    rows = np.arange(len(choices.right))
    weighting = choices.counts / choices.counts.sum()

    def compute_loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        utilities = np.where(choices.mask, choices.features @ weights, -np.inf)
        utilities -= utilities.max(axis=1, keepdims=True)
        chances = np.exp(utilities)
        totals = chances.sum(axis=1, keepdims=True)
        loss = float(weighting @ (np.log(totals[:, 0]) - utilities[rows, choices.right]))
        residuals = chances / totals
        residuals[rows, choices.right] -= 1.0
        gradient = np.einsum("n,ne,nep->p", weighting, residuals, choices.features)
        return loss + ridge / 2 * float(weights @ weights), gradient + ridge * weights

    return np.asarray(minimize(compute_loss, start, jac=True, method="L-BFGS-B").x)
