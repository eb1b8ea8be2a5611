"""Draws specifications, of which the theorem says which are possible."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from plumbline.contract.errors import DataError
from tasks.filter_design.data.specifications import Specification, find_refusal
from tasks.filter_design.data.theorem import compute_limit
from tasks.filter_design.params import DrawRange, GeneratedSpecifications
from tasks.filter_design.predictor.rows import ORDERS

LEAST_DB = 6.0  # a specification that asks for less is drawn again
MAX_TRIES = 1000
DIGITS = 4


def draw_specifications(
    settings: GeneratedSpecifications, num_rows: int, random: np.random.Generator
) -> list[Specification]:
    """Draw independent specifications; `settings` says from what."""
    return [_draw_accepted(settings, random) for _ in range(num_rows)]


def _draw_accepted(settings: GeneratedSpecifications, random: np.random.Generator) -> Specification:
    fault = None
    for _ in range(MAX_TRIES):
        specification = _draw_one(settings, random)
        fault = _find_fault(specification)
        if fault is None:
            return specification
    raise DataError(
        f"data.generated: {MAX_TRIES} specifications in a row cannot be used, the last one because "
        f"of {fault}; change stop_ratio, max_loss_db, slack_db, orders or pass_hz"
    )


def _find_fault(specification: Specification) -> str | None:
    """Say why a specification is drawn again; None if it is one to learn from."""
    asked = specification.min_attenuation_db
    if asked < LEAST_DB:
        return f"min_attenuation_db: {asked:g} dB is less than {LEAST_DB:g} dB"
    return find_refusal(specification)


def _draw_one(settings: GeneratedSpecifications, random: np.random.Generator) -> Specification:
    kind = _choose(settings.kinds, random)
    is_impossible = bool(random.random() < settings.impossible)
    is_open = bool(random.random() < settings.open_order) and kind != "band-pass"
    order = int(random.choice(settings.orders))
    if kind == "band-pass" or (is_open and is_impossible):
        order = ORDERS[kind][-1]
    pass_hz, stop_hz = _draw_edges(kind, settings, random)
    asked = Specification(
        kind=kind,
        pass_hz=pass_hz,
        stop_hz=stop_hz,
        max_loss_db=_draw_evenly(settings.max_loss_db, random),
        min_attenuation_db=0.0,
        order=None if is_open else order,
        z0_ohm=float(random.choice(settings.z0_ohm)),
        q_inductor=_draw(settings.q_inductor, random, 3),
        q_capacitor=_draw(settings.q_capacitor, random, 3),
        series=_choose(settings.series, random),
    )
    slack = _draw_evenly(settings.slack_db, random)
    excess = _draw_evenly(settings.excess_db, random)
    limit = compute_limit(asked, order) + (excess if is_impossible else -slack)
    return replace(asked, min_attenuation_db=round(limit, 2))


def _draw_edges(
    kind: str, settings: GeneratedSpecifications, random: np.random.Generator
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Draw pass edges and stop edges in Hz, of four digits each."""
    centre = _draw(settings.pass_hz, random, DIGITS)
    ratio = _draw(settings.stop_ratio, random, DIGITS)
    if kind == "low-pass":
        return (centre,), (_round(centre * ratio, DIGITS),)
    if kind == "high-pass":
        return (centre,), (_round(centre / ratio, DIGITS),)
    bandwidth = _draw(settings.bandwidth, random, DIGITS)
    return _place_edges(centre, bandwidth), _place_edges(centre, bandwidth * ratio)


def _place_edges(centre: float, bandwidth: float) -> tuple[float, ...]:
    """Return two frequencies so far from each other, whose geometric mean is the centre."""
    middle = math.hypot(1, bandwidth / 2)
    edges = (centre * (middle - bandwidth / 2), centre * (middle + bandwidth / 2))
    return tuple(_round(edge, DIGITS) for edge in edges)


def _choose(weights: Mapping[Any, float], random: np.random.Generator) -> str:
    """Choose a name by its weight."""
    shares = np.array(list(weights.values()))
    return str(list(weights)[int(random.choice(len(shares), p=shares / shares.sum()))])


def _draw_evenly(interval: DrawRange, random: np.random.Generator) -> float:
    """Draw evenly, rounded to hundredths."""
    return round(float(random.uniform(interval.low, interval.high)), 2)


def _draw(interval: DrawRange, random: np.random.Generator, digits: int) -> float:
    """Draw evenly on a logarithmic scale, rounded to so many digits."""
    exponent = random.uniform(math.log(interval.low), math.log(interval.high))
    return _round(math.exp(exponent), digits)


def _round(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")
