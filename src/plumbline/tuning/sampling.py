"""Optuna's samplers and its pruner, seeded by position and shown only earlier generations."""

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.pruners import BasePruner, MedianPruner
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial

from plumbline.tuning.positions import GENERATION, build_view, find_position
from plumbline.tuning.space import round_value

SamplerName = Literal["tpe", "random"]


class GenerationSampler(BaseSampler):
    """First what params.yaml says, then what Optuna's sampler draws after earlier generations."""

    def __init__(
        self,
        name: SamplerName,
        seed: int,
        values: Mapping[str, Any],
        distributions: Mapping[str, BaseDistribution],
    ) -> None:
        self._name = name
        self._seed = seed
        self._values = dict(values)
        self._distributions = dict(distributions)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return all of it: no key is left to be drawn by itself."""
        return self._distributions

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the values of a trial: those of its position, whichever worker asks."""
        position = find_position(study.get_trials(deepcopy=False), trial)
        if position == 0:
            return dict(self._values)
        view = build_view(study, trial)
        view.sampler = self._seed_sampler(position)
        drawn = view.ask(fixed_distributions=search_space).params
        return {key: round_value(drawn[key], kind) for key, kind in search_space.items()}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Refuse: a value that is not in the space has no range."""
        raise LookupError(f"{param_name} is not in the space of the search")

    def _seed_sampler(self, position: int) -> BaseSampler:
        text = f"{self._seed}/{position}".encode()
        seed = int.from_bytes(hashlib.sha256(text).digest()[:4], "big")
        if self._name == "random":
            return RandomSampler(seed=seed)
        return TPESampler(seed=seed, n_startup_trials=GENERATION)


class RepeatSampler(BaseSampler):
    """The values of trial n are n: a winner is trained again with the n-th seed."""

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Leave everything to `sample_independent`."""
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return nothing: see `sample_independent`."""
        return {}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return the position of the trial."""
        return find_position(study.get_trials(deepcopy=False), trial)


class GenerationPruner(BasePruner):
    """Stops a trial that is below the median of earlier generations at the same epoch.

    Not before epoch `warmup`: a small learning rate begins slowly, and may end best.
    """

    def __init__(self, warmup: int = 0) -> None:
        self._warmup = warmup

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Whether the trial is hopeless."""
        pruner = MedianPruner(n_startup_trials=GENERATION - 1, n_warmup_steps=self._warmup)
        return pruner.prune(build_view(study, trial), trial)
