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

    @property
    def is_symmetric(self) -> bool:
        """Whether the prior is the same if symbols exchange their names."""
        alphas = np.array(self.alphas)
        return bool((alphas == alphas[:, :1]).all())
