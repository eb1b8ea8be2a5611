"""What a filter has to do: one specification, and columns of many of them."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

COLUMNS = (
    "kind",
    "pass_hz",
    "stop_hz",
    "max_loss_db",
    "min_attenuation_db",
    "order",
    "z0_ohm",
    "q_inductor",
    "q_capacitor",
    "series",
)
ORDERS = {"low-pass": (3, 5, 7), "high-pass": (3, 5, 7), "band-pass": (3,)}


@dataclass(frozen=True)
class Specification:
    """One filter between equal terminations; frequencies in Hz.

    `pass_hz` and `stop_hz` have one edge each, for a band-pass two, in ascending order. `order` is
    the number of reactive parts, for a band-pass of resonators; None: as few as meet the mask.
    """

    kind: str
    pass_hz: tuple[float, ...]
    stop_hz: tuple[float, ...]
    max_loss_db: float
    min_attenuation_db: float
    order: int | None
    z0_ohm: float
    q_inductor: float
    q_capacitor: float
    series: str

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


def parse_columns(columns: Mapping[str, Sequence[Any]]) -> list[Specification]:
    """Return the specifications that complete and valid columns hold, in order."""
    rows = zip(*(columns[name] for name in COLUMNS), strict=True)
    return [_parse_row(dict(zip(COLUMNS, row, strict=True))) for row in rows]


def _parse_row(row: Mapping[str, Any]) -> Specification:
    order = row["order"]
    is_open = order is None or order != order  # NaN, in a table
    return Specification(
        kind=str(row["kind"]),
        pass_hz=tuple(float(edge) for edge in row["pass_hz"]),
        stop_hz=tuple(float(edge) for edge in row["stop_hz"]),
        max_loss_db=float(row["max_loss_db"]),
        min_attenuation_db=float(row["min_attenuation_db"]),
        order=None if is_open else int(order),
        z0_ohm=float(row["z0_ohm"]),
        q_inductor=float(row["q_inductor"]),
        q_capacitor=float(row["q_capacitor"]),
        series=str(row["series"]),
    )
