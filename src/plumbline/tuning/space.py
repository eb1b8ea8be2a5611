"""From `search` in params.yaml to Optuna's distributions, and from a trial's values to params."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Params
from plumbline.contract.search import SearchDimension, TunableConfig

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.distributions import BaseDistribution

PLACES = 3  # significant digits of a number that is tried: params.yaml then says it in full


def read_space(params: Params, candidate: str) -> dict[str, SearchDimension]:
    """Return what params.yaml lets a search change of `candidate`.

    Raises ParamsError where that is nothing.
    """
    config = params.candidates[candidate]
    if not isinstance(config, TunableConfig) or not config.search:
        raise ParamsError(
            f"candidates.{candidate}: has no search; write below it what to try, such as "
            "`search: {learning_rate: {low: 1.0e-4, high: 1.0e-2, log: true}}`"
        )
    return dict(config.search)


def read_values(params: Params, candidate: str) -> dict[str, Any]:
    """Return the values in params.yaml of the keys that are searched."""
    config = params.candidates[candidate]
    return {key: getattr(config, key) for key in read_space(params, candidate)}


def build_distributions(
    space: Mapping[str, SearchDimension], values: Mapping[str, Any]
) -> dict[str, "BaseDistribution"]:
    """Return Optuna's distribution of each key.

    A range is of whole numbers where its ends are, and the value in params.yaml too.
    """
    return {key: _build_distribution(space[key], values[key]) for key in space}


def suggest_values(
    trial: "Trial", distributions: Mapping[str, "BaseDistribution"]
) -> dict[str, Any]:
    """Return the values of a trial; asking for them also records them."""
    from optuna.distributions import FloatDistribution, IntDistribution

    values: dict[str, Any] = {}
    for key, kind in distributions.items():
        if isinstance(kind, FloatDistribution):
            values[key] = trial.suggest_float(key, kind.low, kind.high, log=kind.log)
        elif isinstance(kind, IntDistribution):
            values[key] = trial.suggest_int(key, kind.low, kind.high, log=kind.log)
        else:
            values[key] = trial.suggest_categorical(key, getattr(kind, "choices", ()))
    return values


def round_value(value: Any, kind: "BaseDistribution") -> Any:
    """Round a number that was drawn to PLACES significant digits, within its range."""
    from optuna.distributions import FloatDistribution

    if not isinstance(kind, FloatDistribution):
        return value
    return min(max(float(f"{value:.{PLACES}g}"), kind.low), kind.high)


def configure(params: Params, candidate: str, values: Mapping[str, Any], seed: int) -> Params:
    """Return params with `values` in place of those of the candidate.

    Raises ParamsError where the values are valid one by one, and not together.
    """
    config = params.candidates[candidate]
    try:
        changed = type(config).model_validate(config.model_dump() | dict(values))
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise ParamsError(f"candidates.{candidate}: {reason}") from None
    return params.model_copy(update={"candidates": {candidate: changed}, "seed": seed})


def _build_distribution(dimension: SearchDimension, value: Any) -> "BaseDistribution":
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if dimension.choices is not None:
        return CategoricalDistribution(dimension.choices)
    low, high = dimension.low, dimension.high
    if low is None or high is None:
        raise ValueError("a range has two ends")
    if isinstance(low, int) and isinstance(high, int) and isinstance(value, int):
        return IntDistribution(low, high, log=dimension.log)
    return FloatDistribution(float(low), float(high), log=dimension.log)
