"""Which values of a candidate `plumbline tune` tries: `search`, a key of the candidate."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from plumbline.contract.params import StrictModel
from plumbline.contract.suggestion import suggest_nearest

Number = int | float
Scalar = bool | int | float | str
# What a search must not change: another kind is another candidate, another form another promise.
FIXED = ("kind", "forms", "search", "trials", "seeds")


class SearchDimension(StrictModel):
    """The values of one key: {low, high}, on a log scale with log: true, or {choices: [...]}."""

    low: Number | None = None
    high: Number | None = None
    log: bool = False
    choices: Annotated[list[Scalar], Field(min_length=2)] | None = None

    @model_validator(mode="after")
    def _check_shape(self) -> "SearchDimension":
        ends = (self.low, self.high)
        if self.choices is not None:
            if ends != (None, None) or self.log:
                raise ValueError("choices go without low, high and log")
            if len(set(map(repr, self.choices))) < len(self.choices):
                raise ValueError("a choice is named twice")
            return self
        if self.low is None or self.high is None:
            raise ValueError("needs low and high, or choices")
        if self.low >= self.high:
            raise ValueError(f"low ({self.low}) must be less than high ({self.high})")
        if self.log and self.low <= 0:
            raise ValueError(f"a log scale needs a low above 0, found {self.low}")
        return self

    def list_extremes(self) -> list[Scalar]:
        """List the values that have to be valid, so that all are."""
        if self.choices is not None:
            return list(self.choices)
        return [end for end in (self.low, self.high) if end is not None]

    def has_value(self, value: Any) -> bool:
        """Whether a search can come upon `value`."""
        if self.choices is not None:
            return any(choice == value for choice in self.choices)
        if self.low is None or self.high is None or not isinstance(value, int | float):
            return False
        return self.low <= value <= self.high


class TunableConfig(StrictModel):
    """A candidate whose values can be searched; without `search` nothing is.

    Neither key decides what is trained, so neither is among the values that `model_dump` returns.
    """

    search: Mapping[str, SearchDimension] = Field(default={}, exclude=True)
    # How many trials chose the values; `plumbline tune --apply` writes it, evidence repeats it.
    trials: Annotated[int, Field(ge=1)] | None = Field(default=None, exclude=True)

    def list_values(self) -> dict[str, Any]:
        """Map each key that decides what is trained to its value.

        `model_dump` leaves out keys that the file need not have, where they change nothing.
        """
        names = set(type(self).model_fields) - {"search", "trials", "seeds"}
        return {name: getattr(self, name) for name in names}

    @model_validator(mode="after")
    def _check_search(self) -> "TunableConfig":
        values = self.list_values()
        for key, dimension in self.search.items():
            if key not in values or key in FIXED:
                valid = sorted(set(values) - set(FIXED))
                hint = suggest_nearest(key, valid) or f"; known here: {', '.join(valid)}"
                raise ValueError(f"search.{key}: not a key that can be searched{hint}")
            for value in dimension.list_extremes():
                self._check_value(values, key, value)
            if not dimension.has_value(values[key]):
                raise ValueError(
                    f"search.{key}: does not include the value of {key}, {values[key]}"
                )
        return self

    def _check_value(self, values: dict[str, Any], key: str, value: Scalar) -> None:
        """Check a value of the search as strictly as one in its place."""
        try:
            type(self).model_validate(values | {key: value})
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise ValueError(f"search.{key}: {value} cannot be its value: {reason}") from None
