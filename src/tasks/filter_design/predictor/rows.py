"""The rows of a question: each is a specification, or refused with field and remedy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .series import SERIES

KINDS = ("low-pass", "high-pass", "band-pass")
ORDERS = {"low-pass": (3, 5, 7), "high-pass": (3, 5, 7), "band-pass": (3,)}
DEFAULTS = {"order": None, "z0_ohm": 50.0, "q_inductor": 100.0, "q_capacitor": 1000.0}
DEFAULT_SERIES = "E24"
REQUIRED = ("kind", "pass_hz", "stop_hz", "max_loss_db", "min_attenuation_db")
REMEDIES = {
    "pass_hz": "the edge of the passband in Hz, such as 3e7",
    "stop_hz": "the edge of the stopband in Hz, such as 5e7",
    "max_loss_db": "the loss in dB that the passband may have, such as 1",
    "min_attenuation_db": "the attenuation in dB that the stopband needs, such as 40",
    "z0_ohm": "the impedance of source and load in ohm, such as 50",
    "q_inductor": "the Q of the inductors at the pass edge, such as 100; 1e7 for no losses",
    "q_capacitor": "the Q of the capacitors at the pass edge, such as 1000",
}
LEAST_HZ, MOST_HZ = 1.0, 1e12
LEAST_RATIO, MOST_RATIO = 1.001, 1000.0  # of the edges of a band
DIGITS = 12  # of ratios: frequencies x 10 must give the same numbers


@dataclass(frozen=True)
class Spec:
    """What a filter must do, and from which parts; `order` None asks for the fewest parts."""

    kind: str
    pass_hz: tuple[float, ...]
    stop_hz: tuple[float, ...]
    max_loss_db: float
    min_attenuation_db: float
    order: int | None = None
    z0_ohm: float = 50.0
    q_inductor: float = 100.0
    q_capacitor: float = 1000.0
    series: str = DEFAULT_SERIES


def read_specs(columns: Mapping[str, Sequence[Any]]) -> list[Spec]:
    """Return the specification of each row; raises ValueError that names row and field."""
    for name in REQUIRED:
        if name not in columns:
            listed = ", ".join(map(repr, columns)) or "no columns"
            raise ValueError(f"no column {name!r}; found {listed}")
    table = {name: list(column) for name, column in columns.items()}  # by place, whatever an index
    num_rows = len(table["kind"])
    for name, values in table.items():
        if len(values) != num_rows:
            raise ValueError(
                f"column {name!r} has {len(values)} rows, and 'kind' has {num_rows}: give each row "
                "a value, or None where it is left out"
            )
    specs = []
    for row in range(num_rows):
        try:
            specs.append(read_spec({name: values[row] for name, values in table.items()}))
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
    return specs


def read_spec(values: Mapping[str, Any]) -> Spec:
    """Return the specification that one row asks for; raises ValueError with field and remedy."""
    kind = values["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind: expected {', '.join(KINDS)}, found {kind!r:.60}")
    series = values.get("series")
    series = DEFAULT_SERIES if is_missing(series) else series
    if not isinstance(series, str) or series not in SERIES:
        raise ValueError(f"series: expected {', '.join(SERIES)}, found {series!r:.60}")
    max_loss = read_number("max_loss_db", values["max_loss_db"], 1e-3, 100.0)
    attenuation = read_number("min_attenuation_db", values["min_attenuation_db"], 1e-3, 300.0)
    if attenuation <= max_loss:
        raise ValueError(
            f"min_attenuation_db: {attenuation:g} dB is not above max_loss_db ({max_loss:g}): "
            "a filter that attenuates no more than it may lose is a wire; raise it"
        )
    spec = Spec(
        kind=kind,
        pass_hz=read_edges("pass_hz", kind, values["pass_hz"]),
        stop_hz=read_edges("stop_hz", kind, values["stop_hz"]),
        max_loss_db=max_loss,
        min_attenuation_db=attenuation,
        order=read_order(kind, values.get("order")),
        z0_ohm=read_optional("z0_ohm", values, 1e-3, 1e6),
        q_inductor=read_optional("q_inductor", values, 1.0, 1e7),
        q_capacitor=read_optional("q_capacitor", values, 1.0, 1e7),
        series=series,
    )
    check_edges(spec)
    return spec


def read_edges(name: str, kind: str, value: Any) -> tuple[float, ...]:
    """Return the edges of a band in Hz: one, or two ascending ones for a band-pass."""
    expected = 2 if kind == "band-pass" else 1
    is_text = isinstance(value, str | bytes | bytearray | memoryview)
    is_list = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim == 1)
    if is_text or not is_list or len(value) != expected:
        form = "[lower, upper]" if expected == 2 else "[edge]"
        raise ValueError(f"{name}: a {kind} has {form} in Hz, found {value!r:.60}")
    edges = tuple(read_number(name, edge, LEAST_HZ, MOST_HZ) for edge in value)
    if expected > 1 and edges[0] > edges[1]:
        raise ValueError(f"{name}: edges are not ascending: {edges[0]:g}, {edges[1]:g}; swap them")
    ratio = round_digits(edges[-1] / edges[0])
    if expected > 1 and ratio < LEAST_RATIO:
        raise ValueError(
            f"{name}: edges {edges[0]:.10g} and {edges[1]:.10g} are less than 0.1 % apart: "
            "no ladder of parts has so narrow a band; move them apart"
        )
    if name == "pass_hz" and ratio > MOST_RATIO:
        raise ValueError(
            f"{name}: edges {edges[0]:.10g} and {edges[1]:.10g} are more than a factor of "
            f"{MOST_RATIO:g} apart: design a high-pass and a low-pass for them"
        )
    return edges


def check_edges(spec: Spec) -> None:
    """Raise ValueError where a stop edge is not outside the passband."""
    stop, passed = spec.stop_hz, spec.pass_hz
    problem = ""
    if spec.kind == "low-pass" and stop[0] <= passed[0]:
        problem = f"{stop[0]:g} Hz is in the passband, below {passed[0]:g} Hz: move it above"
    if spec.kind == "high-pass" and stop[0] >= passed[0]:
        problem = f"{stop[0]:g} Hz is in the passband, above {passed[0]:g} Hz: move it below"
    if spec.kind == "band-pass" and not stop[0] < passed[0] < passed[1] < stop[1]:
        problem = (
            f"{stop[0]:g} and {stop[1]:g} Hz are not on both sides of the passband, "
            f"{passed[0]:g} to {passed[1]:g} Hz: move them outside"
        )
    if problem:
        raise ValueError(f"stop_hz: {problem}")


def read_order(kind: str, value: Any) -> int | None:
    """Return the order, or None where it is left out."""
    if is_missing(value):
        return None
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if is_number and not isinstance(value, bool) and value in ORDERS[kind]:
        return int(value)
    listed = " or ".join(map(str, ORDERS[kind]))
    raise ValueError(
        f"order: a {kind} is built with {listed}, found {value!r:.60}; equal terminations "
        "need an odd order; leave it out to get the fewest parts"
    )


def read_optional(name: str, values: Mapping[str, Any], least: float, most: float) -> float:
    """Return a number, or its default where it is left out."""
    value = values.get(name)
    default: Any = DEFAULTS[name]
    return float(default) if is_missing(value) else read_number(name, value, least, most)


def read_number(name: str, value: Any, least: float, most: float) -> float:
    """Return a number in the range; raises ValueError for anything else."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(
            f"{name}: expected a number from {least:g} to {most:g}, found {value!r:.60}; "
            f"give {REMEDIES[name]}"
        )
    return float(value)


def is_missing(value: Any) -> bool:
    """Whether a column that may be left out holds nothing: None, or NaN in a table."""
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def check_param(name: str, value: Any, least: int, most: int) -> None:
    """Raise ValueError unless `value` is a whole number in the range."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise ValueError(
            f"{name}: expected a whole number from {least} to {most}, found {value!r:.60}"
        )


def find_shown_range(spec: Spec) -> tuple[float, float]:
    """Return the lowest and the highest frequency of the response in an answer, in Hz."""
    edges = [*spec.pass_hz, *spec.stop_hz]
    return min(edges) / 3, max(edges) * 3


def round_digits(value: float) -> float:
    """Return `value` with DIGITS significant digits."""
    return float(f"{value:.{DIGITS}g}")
