"""From `search` in params.yaml to what Optuna suggests, and from a trial's values to params."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Params
from plumbline.contract.search import SearchDimension, TunableConfig

if TYPE_CHECKING:
    from optuna import Trial

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


def suggest_values(trial: "Trial", params: Params, candidate: str) -> dict[str, Any]:
    """Return the values of a trial; asking for them also records them."""
    space = read_space(params, candidate)
    for key, value in read_values(params, candidate).items():
        _suggest(trial, key, space[key], value)
    return round_values(trial.params, params, candidate)


def round_values(drawn: Mapping[str, Any], params: Params, candidate: str) -> dict[str, Any]:
    """Round what Optuna drew to PLACES digits; what params.yaml says already stays as it is."""
    space = read_space(params, candidate)
    shipped = read_values(params, candidate)
    values = dict(drawn)
    for key, value in drawn.items():
        low, high = space[key].low, space[key].high
        if isinstance(value, float) and low is not None and high is not None:
            rounded = min(max(float(f"{value:.{PLACES}g}"), low), high)
            values[key] = shipped[key] if value == shipped[key] else rounded
    return values


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


def _suggest(trial: "Trial", key: str, dimension: SearchDimension, value: Any) -> None:
    """A range is of whole numbers where its ends are, and the value in params.yaml too."""
    low, high = dimension.low, dimension.high
    if low is None or high is None:
        trial.suggest_categorical(key, dimension.choices or ())
    elif isinstance(low, int) and isinstance(high, int) and isinstance(value, int):
        trial.suggest_int(key, low, high, log=dimension.log)
    else:
        trial.suggest_float(key, low, high, log=dimension.log)
