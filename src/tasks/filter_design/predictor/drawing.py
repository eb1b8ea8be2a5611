"""The picture of an answer."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .ladder import TOPOLOGIES, build_ladder
from .rows import Spec
from .search import FilterDesign, split_parts

STEP, TOP, GROUND, MARGIN, HEIGHT = 92, 62, 172, 70, 204  # of a schematic, in units of the picture
PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, PLOT_BOTTOM = 70, 560, 12, 212
DEEPEST_DB, HIGHEST_DB = 20.0, 2.0  # that are shown below the mask, and above 0 dB
LINE = 'fill="none" stroke="currentColor" stroke-width="1.6"'
TEXT = 'font-family="sans-serif" font-size="11" fill="currentColor"'
GREY = 'fill="#bbbbbb"'
PREFIXES = {
    "nH": ((1e6, "mH"), (1e3, "µH"), (1, "nH")),
    "pF": ((1e6, "µF"), (1e3, "nF"), (1, "pF")),
    "Hz": ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1, "Hz")),
}


class Branch(NamedTuple):
    """A branch of a schematic: an inductor in nH, a capacitor in pF, or both."""

    in_series: bool
    inductor: float | None
    capacitor: float | None


def draw_picture(
    spec: Spec, design: FilterDesign, frequencies: np.ndarray, losses: np.ndarray
) -> str:
    """Return schematic and response [F] of a design as SVG: lines, areas and numbers, no script."""
    schematic, width = draw_ladder(list_branches(spec, design), spec.z0_ohm)
    width = max(width, PLOT_RIGHT + 20)
    height = HEIGHT + PLOT_BOTTOM + 40
    marks = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        schematic,
        f'<g transform="translate(0 {HEIGHT})">',
        *draw_response(spec, frequencies, losses),
        "</g>",
        "</svg>",
    ]
    return "\n".join(marks) + "\n"


def list_branches(spec: Spec, design: FilterDesign) -> list[Branch]:
    """Return the branches of a design from the source on."""
    inductors, capacitors = map(iter, split_parts(spec, design))
    topology = TOPOLOGIES.index(design.topology)
    is_inductor = build_ladder(spec, design.order).is_inductor[topology]
    branches = []
    for number, kinds in enumerate(is_inductor.reshape(design.order, -1).tolist()):
        inductor = next(inductors) if True in kinds else None
        capacitor = next(capacitors) if False in kinds else None
        branches.append(Branch((number + topology) % 2 == 0, inductor, capacitor))
    return branches


def draw_ladder(branches: Sequence[Branch], z0_ohm: float) -> tuple[str, int]:
    """Return the marks of a schematic, between a source and a load, and its width."""
    impedance = f"{z0_ohm:g} Ω"
    marks = [draw_resistor_down(30, impedance), draw_wire(30, TOP, MARGIN, TOP)]
    at = MARGIN
    for branch in branches:
        parts = []
        if branch.inductor is not None:
            parts.append(("L", show_value(branch.inductor, "nH")))
        if branch.capacitor is not None:
            parts.append(("C", show_value(branch.capacitor, "pF")))
        marks.append((draw_in_series if branch.in_series else draw_in_shunt)(at, parts))
        at += STEP
    marks += [draw_wire(at, TOP, at + 40, TOP), draw_resistor_down(at + 40, impedance)]
    return "".join(marks), at + 110


def draw_in_series(at: int, parts: list[tuple[str, str]]) -> str:
    """Draw one part, or an inductor and a capacitor one after the other, on the upper wire."""
    room = STEP / len(parts)
    marks = []
    for place, (letter, value) in enumerate(parts):
        start = at + place * room
        glyph, low, high = draw_glyph(letter, start + room / 2, TOP)
        marks += [glyph, draw_wire(start, TOP, low, TOP), draw_wire(high, TOP, start + room, TOP)]
        marks.append(draw_text(start + room / 2, TOP - 16 - 14 * place, value, "middle"))
    return "".join(marks)


def draw_in_shunt(at: int, parts: list[tuple[str, str]]) -> str:
    """Draw one part, or both beside each other, from the upper wire to ground."""
    middle = at + STEP / 2
    marks = [draw_wire(at, TOP, at + STEP, TOP), draw_ground(middle)]
    centre = (TOP + GROUND) / 2
    offsets = [0.0] if len(parts) == 1 else [-16.0, 16.0]
    for place, ((letter, value), offset) in enumerate(zip(parts, offsets, strict=True)):
        glyph, low, high = draw_glyph(letter, 0, 0)
        turned = f'<g transform="translate({middle + offset:g} {centre:g}) rotate(90)">{glyph}</g>'
        marks += [turned, draw_wire(middle + offset, TOP, middle + offset, centre + low)]
        marks.append(draw_wire(middle + offset, centre + high, middle + offset, GROUND))
        side = 14 if offset >= 0 else -14
        anchor = "start" if offset >= 0 else "end"
        height = centre + 4 - 8 * (len(parts) - 1) + 16 * place
        marks.append(draw_text(middle + offset + side, height, value, anchor))
    if len(parts) > 1:
        marks.append(draw_wire(middle - 16, GROUND, middle + 16, GROUND))
    return "".join(marks)


def draw_glyph(letter: str, x: float, y: float) -> tuple[str, float, float]:
    """Return an inductor or a capacitor on a level wire, and where it begins and ends."""
    if letter == "L":
        arcs = "a5 5 0 0 1 10 0" * 4
        return f'<path {LINE} d="M{x - 20:g} {y:g}{arcs}"/>', x - 20, x + 20
    plates = f"M{x - 4:g} {y - 12:g}v24M{x + 4:g} {y - 12:g}v24"
    return f'<path {LINE} d="{plates}"/>', x - 4, x + 4


def draw_resistor_down(x: float, value: str) -> str:
    """Draw a termination, from the upper wire to ground."""
    centre = (TOP + GROUND) / 2
    box = f'<rect {LINE} x="{x - 7:g}" y="{centre - 18:g}" width="14" height="36"/>'
    wires = draw_wire(x, TOP, x, centre - 18) + draw_wire(x, centre + 18, x, GROUND)
    return box + wires + draw_ground(x) + draw_text(x + 12, centre + 4, value, "start")


def draw_ground(x: float) -> str:
    """Draw the end of a wire."""
    lines = f"M{x:g} {GROUND}v8M{x - 10:g} {GROUND + 8}h20M{x - 6:g} {GROUND + 12}h12"
    return f'<path {LINE} d="{lines}M{x - 2:g} {GROUND + 16}h4"/>'


def draw_wire(x: float, y: float, to_x: float, to_y: float) -> str:
    """Draw a straight line."""
    return f'<path {LINE} d="M{x:g} {y:g}L{to_x:g} {to_y:g}"/>'


def draw_text(x: float, y: float, text: str, anchor: str) -> str:
    """Write text; `anchor`: start, middle or end."""
    return f'<text {TEXT} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'


def show_value(value: float, unit: str) -> str:
    """Return a value with the largest unit that leaves a number from 1."""
    for size, name in PREFIXES[unit]:
        if value >= size:
            return f"{value / size:.4g} {name}"
    return f"{value:.3g} {unit}"


def draw_response(spec: Spec, frequencies: np.ndarray, losses: np.ndarray) -> Iterator[str]:
    """Yield the marks of a response over its mask, whose forbidden areas are grey."""
    deepest = spec.min_attenuation_db + DEEPEST_DB
    scale = (PLOT_BOTTOM - PLOT_TOP) / (deepest + HIGHEST_DB)
    low, high = math.log(frequencies[0]), math.log(frequencies[-1])
    width = (PLOT_RIGHT - PLOT_LEFT) / (high - low)
    is_shown = losses <= deepest
    across = PLOT_LEFT + (np.log(frequencies[is_shown]) - low) * width
    down = PLOT_TOP + (losses[is_shown] + HIGHEST_DB) * scale
    edges = {
        edge: PLOT_LEFT + (math.log(edge) - low) * width for edge in (*spec.pass_hz, *spec.stop_hz)
    }
    zero, lost, stopped = (
        PLOT_TOP + (level + HIGHEST_DB) * scale
        for level in (0.0, spec.max_loss_db, spec.min_attenuation_db)
    )
    passed = [edges[edge] for edge in spec.pass_hz]
    start = PLOT_LEFT if spec.kind == "low-pass" else passed[0]
    end = PLOT_RIGHT if spec.kind == "high-pass" else passed[-1]
    yield draw_area(start, end, lost, PLOT_BOTTOM)
    if spec.kind != "low-pass":
        yield draw_area(PLOT_LEFT, edges[spec.stop_hz[0]], zero, stopped)
    if spec.kind != "high-pass":
        yield draw_area(edges[spec.stop_hz[-1]], PLOT_RIGHT, zero, stopped)
    pairs = zip(across.tolist(), down.tolist(), strict=True)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)
    yield f'<polyline fill="none" stroke="#1f5fa8" stroke-width="2" points="{points}"/>'
    yield draw_wire(PLOT_LEFT, PLOT_TOP, PLOT_LEFT, PLOT_BOTTOM)
    yield draw_wire(PLOT_LEFT, PLOT_BOTTOM, PLOT_RIGHT, PLOT_BOTTOM)
    for level, y in ((0.0, zero), (-spec.min_attenuation_db, stopped)):
        yield draw_text(PLOT_LEFT - 6, y + 4, f"{level:.4g} dB", "end")
    for place, (edge, x) in enumerate(sorted(edges.items())):
        yield draw_wire(x, PLOT_BOTTOM, x, PLOT_BOTTOM + 5)
        yield draw_text(x, PLOT_BOTTOM + 18 + 13 * (place % 2), show_value(edge, "Hz"), "middle")


def draw_area(left: float, right: float, top: float, bottom: float) -> str:
    """Fill what the response must stay out of."""
    size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
    return f'<rect {GREY} x="{left:.1f}" y="{top:.1f}" {size}/>'
