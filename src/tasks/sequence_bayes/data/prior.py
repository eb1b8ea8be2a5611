"""How the sequences were generated, written beside them: models and scores read it, not params."""

from dataclasses import dataclass

import numpy as np

from tasks.sequence_bayes.params import MixtureData


@dataclass(frozen=True)
class SequencePrior:
    """The prior of a sequence of V symbols.

    They are independent given their probabilities, which come from one of K Dirichlets.
    """

    length: int  # symbols of a sequence
    names: tuple[str, ...]  # of the strata
    weights: tuple[float, ...]  # [K], their sum is 1
    alphas: tuple[tuple[float, ...], ...]  # [K, V]

    @classmethod
    def from_params(cls, data: MixtureData) -> "SequencePrior":
        """Return what params say; a stratum is a component."""
        total = sum(component.weight for component in data.components.values())
        weights = tuple(component.weight / total for component in data.components.values())
        alphas = tuple(tuple(component.alpha) for component in data.components.values())
        return cls(data.length, tuple(data.components), weights, alphas)

    @property
    def num_symbols(self) -> int:
        """V: symbols are numbers from 0 to V - 1."""
        return len(self.alphas[0])

    @property
    def max_history(self) -> int:
        """How many symbols a model may look back on: it is asked for the last one, too."""
        return self.length - 1


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
