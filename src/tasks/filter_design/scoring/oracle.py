"""Judges designs by nodal analysis: what a predictor says of its own designs is not believed.

It is written apart from the simulator of the predictor, which multiplies chain matrices: here the
admittances of all branches make one complex matrix for each frequency, which is solved (Vlach and
Singhal 1994, Computer Methods for Circuit Analysis and Design, chapter 2).

Shapes: F frequencies, n nodes, D draws of the parts of one ladder.
"""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks.filter_design.data.specifications import Specification
from tasks.filter_design.data.theorem import NUM_INTERVALS
from tasks.filter_design.predictor.rows import ORDERS

NUM_STOP_POINTS, STOP_RANGE = 9, 5.0  # from each stop edge on, to so many times its frequency
# Where a ladder of numbers is looked at: closest at both ends, where no dip has two neighbours.
NEAR_SHARES = (1 - np.cos(np.linspace(0, np.pi, 81))) / 2
NUM_DIVISIONS, NUM_INSIDE = 6, 17  # of the interval around a dip, and points in it
NEAREST = 0.01  # of an angle: the end of the passband at direct current or at infinity
TOLERANCE_DB = 1e-9  # that rounding may cost
TOPOLOGIES = ("series_first", "shunt_first")
NANO, PICO = 1e-9, 1e-12
MAX_CACHED = 16_384  # margins; every answer is checked first and scored later


@dataclass(frozen=True)
class LadderDesign:
    """One design: its branches alternate between series and shunt, from the source on.

    A series branch of a low-pass is an inductor, of a high-pass a capacitor, of a band-pass both in
    series; a shunt branch is the other part, or both in parallel.
    """

    topology: str
    order: int
    inductors: tuple[float, ...]  # in H, in the order of the ladder
    capacitors: tuple[float, ...]  # in F


def read_ladder(design: Mapping[str, Any]) -> LadderDesign:
    """Return the ladder that one of the answer's `designs` describes."""
    return LadderDesign(
        topology=str(design["topology"]),
        order=int(design["order"]),
        inductors=tuple(float(value) * NANO for value in design["inductors_nh"]),
        capacitors=tuple(float(value) * PICO for value in design["capacitors_pf"]),
    )


def describe_fault(specification: Specification, ladder: LadderDesign) -> str | None:
    """Say why it is not a ladder of the kind and order that are asked for; None if it is one."""
    if ladder.topology not in TOPOLOGIES:
        return f"topology {ladder.topology!r}; expected {' or '.join(TOPOLOGIES)}"
    orders = ORDERS[specification.kind] if specification.order is None else (specification.order,)
    if ladder.order not in orders:
        return f"{ladder.order} branches; {specification.label} was asked"
    expected = _count_parts(specification.kind, ladder)
    actual = (len(ladder.inductors), len(ladder.capacitors))
    if actual != expected:
        return f"{actual[0]} inductors and {actual[1]} capacitors; expected {expected}"
    values = np.array(ladder.inductors + ladder.capacitors)
    if not (np.isfinite(values) & (values > 0)).all():
        return "a part is not a finite number above 0"
    return None


@functools.lru_cache(maxsize=MAX_CACHED)
def compute_margin(specification: Specification, ladder: LadderDesign) -> float:
    """Return by how many dB the ladder keeps to the mask at its worst frequency.

    Its parts may resonate in the stopband between the points of the mask, so it is searched there.
    """
    surplus = _find_least_attenuation(specification, ladder) - specification.min_attenuation_db
    return min(float(compute_margins(specification, ladder)), surplus)


def compute_margins(specification: Specification, ladder: LadderDesign) -> np.ndarray:
    """Return by how many dB each draw of a ladder keeps to the mask [D].

    The ladder's parts are columns [D, 1]; the mask is looked at in its points only. See
    `compute_margin` for a ladder of numbers.
    """
    passband, stopband = list_frequencies(specification)
    loss = compute_loss(specification, ladder, np.concatenate([passband, stopband]))
    room = specification.max_loss_db - loss[..., : len(passband)].max(axis=-1)
    surplus = loss[..., len(passband) :].min(axis=-1) - specification.min_attenuation_db
    margins: np.ndarray = np.minimum(room, surplus)
    return margins


@functools.lru_cache(maxsize=4096)
def list_frequencies(specification: Specification) -> tuple[np.ndarray, np.ndarray]:
    """Return the frequencies in Hz at which loss and attenuation are looked at.

    Those of the passband are Chebyshev points on the square of the frequency, so that a polynomial
    can hardly exceed the mask between them; see `theorem.is_possible_on_grid`.
    """
    stopbands = np.concatenate(_list_stopbands(specification, np.linspace(0, 1, NUM_STOP_POINTS)))
    edge = specification.pass_hz[0]
    share = np.sin(np.linspace(NEAREST, np.pi, NUM_INTERVALS + 1) / 2)
    if specification.kind == "low-pass":
        return edge * share, stopbands
    if specification.kind == "high-pass":
        return edge / share, stopbands
    places = -np.cos(np.linspace(0, np.pi, NUM_INTERVALS + 1)) * specification.bandwidth / 2
    passband = specification.centre_hz * (places + np.sqrt(1 + places**2))
    return passband, stopbands


def _list_stopbands(specification: Specification, shares: np.ndarray) -> list[np.ndarray]:
    """Return the frequencies in Hz of each stopband, at `shares` of the way, from its edge on."""
    beyond = STOP_RANGE**shares
    bands = {
        "low-pass": [specification.stop_hz[-1] * beyond],
        "high-pass": [specification.stop_hz[0] / beyond],
        "band-pass": [specification.stop_hz[0] / beyond, specification.stop_hz[-1] * beyond],
    }
    return bands[specification.kind]


def _find_least_attenuation(specification: Specification, ladder: LadderDesign) -> float:
    """Return the least loss in dB in the stopbands; each dip of it is looked at more closely."""
    least = math.inf
    for frequencies in _list_stopbands(specification, NEAR_SHARES):
        loss = compute_loss(specification, ladder, frequencies)
        least = min(least, float(loss.min()))
        is_dip = (loss[1:-1] < loss[:-2]) & (loss[1:-1] <= loss[2:])
        for place in np.flatnonzero(is_dip):
            dip = _divide_dip(specification, ladder, frequencies[place], frequencies[place + 2])
            least = min(least, dip)
    return least


def _divide_dip(
    specification: Specification, ladder: LadderDesign, first: float, last: float
) -> float:
    """Return the least loss in dB between two frequencies around one dip."""
    for _ in range(NUM_DIVISIONS):
        near = np.linspace(first, last, NUM_INSIDE)
        loss = compute_loss(specification, ladder, near)
        lowest = int(loss[1:-1].argmin()) + 1
        first, last = near[lowest - 1], near[lowest + 1]
    return float(loss.min())


def compute_loss(
    specification: Specification, ladder: LadderDesign, frequencies: np.ndarray
) -> np.ndarray:
    """Return -20 log10 |S21| between equal terminations at each frequency [F], or [D, F]."""
    voltage = _solve_nodes(specification, ladder, frequencies)[..., -1]
    loss: np.ndarray = -20 * np.log10(np.abs(2 * voltage))
    return loss


def _solve_nodes(
    specification: Specification, ladder: LadderDesign, frequencies: np.ndarray
) -> np.ndarray:
    """Return the voltages of all nodes for a source of 1 V behind its resistance [..., F, n]."""
    termination = 1 / specification.z0_ohm
    admittances = _list_admittances(specification, ladder, frequencies)
    is_series = [_is_series(ladder, place) for place in range(ladder.order)]
    num_nodes = 1 + sum(is_series)
    matrix = np.zeros((*admittances[0].shape, num_nodes, num_nodes), complex)
    matrix[..., 0, 0] += termination
    matrix[..., -1, -1] += termination
    node = 0
    for in_series, admittance in zip(is_series, admittances, strict=True):
        matrix[..., node, node] += admittance
        if in_series:
            matrix[..., node + 1, node + 1] += admittance
            matrix[..., node, node + 1] -= admittance
            matrix[..., node + 1, node] -= admittance
            node += 1
    current = np.zeros((num_nodes, 1), complex)
    current[0] = termination
    voltages: np.ndarray = np.linalg.solve(matrix, current)[..., 0]
    return voltages


def _list_admittances(
    specification: Specification, ladder: LadderDesign, frequencies: np.ndarray
) -> list[np.ndarray]:
    """Return the admittance of each branch [F], or [D, F], with its losses.

    A series branch has constant resistances, a shunt branch constant conductances; Q holds at the
    pass edge, or at the centre of the band.
    """
    inductors, capacitors = iter(ladder.inductors), iter(ladder.capacitors)
    s = 2j * math.pi * frequencies
    centre = 2 * math.pi * specification.centre_hz
    branches = []
    for place in range(ladder.order):
        in_series = _is_series(ladder, place)
        immittance = np.zeros((), complex)
        if _has_inductor(specification.kind, in_series):
            inductance = next(inductors)
            reactance = centre * inductance
            loss = reactance if in_series else 1 / reactance
            ideal = s * inductance if in_series else 1 / (s * inductance)
            immittance = immittance + ideal + loss / specification.q_inductor
        if _has_inductor(specification.kind, not in_series):  # the other part of the ladder
            capacitance = next(capacitors)
            susceptance = centre * capacitance
            loss = 1 / susceptance if in_series else susceptance
            ideal = 1 / (s * capacitance) if in_series else s * capacitance
            immittance = immittance + ideal + loss / specification.q_capacitor
        branches.append(1 / immittance if in_series else immittance)
    return branches


def _count_parts(kind: str, ladder: LadderDesign) -> tuple[int, int]:
    """Return how many inductors and capacitors a ladder of its topology and order has."""
    in_series = [_is_series(ladder, place) for place in range(ladder.order)]
    num_inductors = sum(_has_inductor(kind, series) for series in in_series)
    num_capacitors = sum(_has_inductor(kind, not series) for series in in_series)
    return num_inductors, num_capacitors


def _is_series(ladder: LadderDesign, place: int) -> bool:
    return (place % 2 == 0) == (ladder.topology == "series_first")


def _has_inductor(kind: str, in_series: bool) -> bool:
    return kind == "band-pass" or (kind == "low-pass") == in_series
