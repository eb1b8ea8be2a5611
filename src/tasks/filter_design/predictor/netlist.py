"""The netlist of an answer."""

import math
from collections.abc import Iterator

from .ladder import TOPOLOGIES, build_ladder, get_band
from .rows import Spec, find_shown_range
from .search import FilterDesign


def write_netlist(spec: Spec, design: FilterDesign) -> str:
    """Return a SPICE netlist whose V(out) is S21; ngspice -b runs it as it is."""
    ladder = build_ladder(spec, design.order)
    topology = TOPOLOGIES.index(design.topology)
    lower, upper = find_shown_range(spec)
    lines = [
        f"* {spec.kind} of order {design.order}, {spec.series} parts, {design.topology}",
        "V1 in 0 AC 2",
        f"RS in n0 {spec.z0_ohm:.9g}",
    ]
    node = "n0"
    is_series = [(branch + topology) % 2 == 0 for branch in range(design.order)]
    last_series = max(branch for branch, flag in enumerate(is_series) if flag)
    for branch in range(design.order):
        places = range(branch * ladder.per_branch, (branch + 1) * ladder.per_branch)
        parts = [
            (bool(ladder.is_inductor[topology, place]), float(design.parts[place]))
            for place in places
        ]
        following = "out" if branch == last_series else f"n{branch + 1}"
        after = following if is_series[branch] else "0"
        lines += write_branch(spec, branch + 1, parts, node, after)
        node = following if is_series[branch] else node
    lines += [f"RL out 0 {spec.z0_ohm:.9g}"]
    lines += [f".ac dec 100 {lower:.9g} {upper:.9g}", ".print ac vdb(out)"]
    return "\n".join([*lines, ".end", ""])


def write_branch(
    spec: Spec, number: int, parts: list[tuple[bool, float]], node: str, after: str
) -> Iterator[str]:
    """Yield the parts of a branch and the resistor of their losses.

    It ends at the node `after`: a shunt branch at the ground, its parts beside each other.
    """
    in_series = after != "0"
    speed = 2 * math.pi * get_band(spec)[0]
    lost = 0.0
    at = node
    for is_inductor, value in parts:
        letter = "L" if is_inductor else "C"
        immittance = speed * value if is_inductor == in_series else 1 / (speed * value)
        lost += immittance / (spec.q_inductor if is_inductor else spec.q_capacitor)
        end = f"{node}{letter.lower()}" if in_series else after
        yield f"{letter}{number} {at} {end} {value:.6g}"
        at = end if in_series else node
    yield f"RQ{number} {at} {after} {lost if in_series else 1 / lost:.12g}"
