"""What a filter has to do: one specification, and columns of many of them."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tasks.filter_design.predictor.rows import ORDERS, Spec, read_specs

COLUMNS = tuple(Spec.__dataclass_fields__)


@dataclass(frozen=True)
class Specification(Spec):
    """One filter between equal terminations, as data and oracle see it; frequencies in Hz.

    `pass_hz` and `stop_hz` have one edge each, for a band-pass two, in ascending order. `order` is
    the number of reactive parts, for a band-pass of resonators; None: as few as meet the mask.
    """

    @property
    def centre_hz(self) -> float:
        """Where Q is given: the pass edge, or the geometric centre of the band."""
        return math.sqrt(self.pass_hz[0] * self.pass_hz[-1])

    @property
    def bandwidth(self) -> float:
        """The width of a band-pass, relative to its centre."""
        return (self.pass_hz[-1] - self.pass_hz[0]) / self.centre_hz

    @property
    def max_order(self) -> int:
        """The order that it asks for, or the highest that it leaves open."""
        return self.order or ORDERS[self.kind][-1]

    @property
    def label(self) -> str:
        """The stratum: kind and order."""
        return f"{self.kind} {self.order or 'open'}"

    @property
    def digest(self) -> str:
        """The SHA-256 of all its values."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()


def list_columns(specifications: Sequence[Specification]) -> dict[str, list[Any]]:
    """Return the predictor's columns for these specifications, in order.

    An order is a float, as the signature has it: MLflow takes no integers for a column of doubles.
    """
    columns: dict[str, list[Any]] = {}
    for name in COLUMNS:
        values = [getattr(specification, name) for specification in specifications]
        columns[name] = [_list_value(value) for value in values]
    return columns


def _list_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return float(value) if isinstance(value, int) else value


def accept_columns(columns: Mapping[str, Sequence[Any]]) -> list[Specification]:
    """Return the specifications that the predictor reads in columns; ValueError names a bad row."""
    return [Specification(**vars(spec)) for spec in read_specs(columns)]


def find_refusal(specification: Specification) -> str | None:
    """Say why the predictor refuses a specification; None if it accepts it."""
    try:
        read_specs(list_columns([specification]))
    except ValueError as error:
        return str(error).removeprefix("row 0: ")
    return None
