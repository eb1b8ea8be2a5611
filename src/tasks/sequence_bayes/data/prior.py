"""How the sequences were generated, written beside them: models and scores read it, not params."""

from dataclasses import dataclass

import numpy as np

from tasks.sequence_bayes.params import BernoulliData, MixtureData


@dataclass(frozen=True)
class SequencePrior:
    """The prior of a sequence of V symbols.

    They are independent given their probabilities, which come from one of K Dirichlets.
    """

    length: int  # symbols of a sequence
    names: tuple[str, ...]  # of the strata
    weights: tuple[float, ...]  # [K], their sum is 1
    alphas: tuple[tuple[float, ...], ...]  # [K, V]
    # Where one stratum ends and the next begins, on the probability of symbol 1 (one Dirichlet);
    # empty where a stratum is a component.
    cuts: tuple[float, ...]

    @classmethod
    def from_params(cls, data: MixtureData | BernoulliData) -> "SequencePrior":
        """Return what params say."""
        if isinstance(data, MixtureData):
            return cls._from_mixture(data)
        return cls._from_bernoulli(data)

    @classmethod
    def _from_mixture(cls, data: MixtureData) -> "SequencePrior":
        total = sum(component.weight for component in data.components.values())
        weights = tuple(component.weight / total for component in data.components.values())
        alphas = tuple(tuple(component.alpha) for component in data.components.values())
        return cls(data.length, tuple(data.components), weights, alphas, ())

    @classmethod
    def _from_bernoulli(cls, data: BernoulliData) -> "SequencePrior":
        """Its strata are the thirds of the prior."""
        from scipy.special import betaincinv

        cuts = tuple(float(betaincinv(data.ones, data.zeros, share)) for share in (1 / 3, 2 / 3))
        alphas = ((data.zeros, data.ones),)
        return cls(data.length, ("low", "middle", "high"), (1.0,), alphas, cuts)

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
