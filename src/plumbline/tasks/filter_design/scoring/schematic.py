"""The schematic of a ladder as SVG: five glyphs, drawn by hand and the same in every run."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plumbline.contract.records import Figure

if TYPE_CHECKING:
    import pandas as pd

STEP, TOP, GROUND, MARGIN = 92, 62, 172, 70  # in units of the picture
HEIGHT = 204
LINE = 'fill="none" stroke="currentColor" stroke-width="1.6"'
TEXT = 'font-family="sans-serif" font-size="11" fill="currentColor"'
PREFIXES = {"H": ((1e6, "mH"), (1e3, "µH"), (1, "nH")), "F": ((1e6, "µF"), (1e3, "nF"), (1, "pF"))}


def draw_schematic(parts: "pd.DataFrame") -> Figure:
    """Return the ladder with a source and a load; `parts` is `tables.list_parts`."""
    branches: list[Mapping[Any, Any]] = list(parts.to_dict("records"))
    impedance = f"{branches[0]['z0_ohm']:g} Ω"
    marks = [_draw_resistor_down(30, impedance), _draw_wire(30, TOP, MARGIN, TOP)]
    at = MARGIN
    for branch in branches:
        marks.append(_draw_branch(at, branch))
        at += STEP
    marks += [_draw_wire(at, TOP, at + 40, TOP), _draw_resistor_down(at + 40, impedance)]
    title = "Schematic of the best design"
    width = at + 110
    svg = (
        f'<svg role="img" aria-label="{title}" viewBox="0 0 {width} {HEIGHT}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(marks)}</svg>'
    )
    caption = (
        f"The design with the most margin on the test split ({branches[0]['label']}, row "
        f"{branches[0]['row']}), in standard values, between a source and a load of {impedance}."
    )
    return Figure("schematic", title, caption, svg)


def _draw_branch(at: int, branch: Mapping[Any, Any]) -> str:
    names = []
    for name, unit in (("inductor_nh", "H"), ("capacitor_pf", "F")):
        if not math.isnan(branch[name]):
            names.append((name[0].upper().replace("I", "L"), _show_value(branch[name], unit)))
    draw = _draw_in_series if branch["in_series"] else _draw_in_shunt
    return draw(at, names)


def _draw_in_series(at: int, parts: list[tuple[str, str]]) -> str:
    """Draw one part, or an inductor and a capacitor one after the other, on the upper wire."""
    room = STEP / len(parts)
    marks = []
    for place, (letter, value) in enumerate(parts):
        start = at + place * room
        glyph, low, high = _draw_glyph(letter, start + room / 2, TOP)
        marks += [glyph, _draw_wire(start, TOP, low, TOP), _draw_wire(high, TOP, start + room, TOP)]
        height = TOP - 16 - 14 * place
        marks.append(_draw_text(start + room / 2, height, value, "middle"))
    return "".join(marks)


def _draw_in_shunt(at: int, parts: list[tuple[str, str]]) -> str:
    """Draw one part, or both beside each other, from the upper wire to ground."""
    middle = at + STEP / 2
    marks = [_draw_wire(at, TOP, at + STEP, TOP), _draw_ground(middle)]
    centre = (TOP + GROUND) / 2
    offsets = [0.0] if len(parts) == 1 else [-16.0, 16.0]
    for place, ((letter, value), offset) in enumerate(zip(parts, offsets, strict=True)):
        glyph, low, high = _draw_glyph(letter, 0, 0)
        turned = f'<g transform="translate({middle + offset:g} {centre:g}) rotate(90)">{glyph}</g>'
        marks += [turned, _draw_wire(middle + offset, TOP, middle + offset, centre + low)]
        marks.append(_draw_wire(middle + offset, centre + high, middle + offset, GROUND))
        side = 14 if offset >= 0 else -14
        anchor = "start" if offset >= 0 else "end"
        height = centre + 4 - 8 * (len(parts) - 1) + 16 * place
        marks.append(_draw_text(middle + offset + side, height, value, anchor))
    if len(parts) > 1:
        marks.append(_draw_wire(middle - 16, GROUND, middle + 16, GROUND))
    return "".join(marks)


def _draw_glyph(letter: str, x: float, y: float) -> tuple[str, float, float]:
    """Return an inductor or a capacitor on a level wire, and where it begins and ends."""
    if letter == "L":
        arcs = "a5 5 0 0 1 10 0" * 4
        return f'<path {LINE} d="M{x - 20:g} {y:g}{arcs}"/>', x - 20, x + 20
    plates = f"M{x - 4:g} {y - 12:g}v24M{x + 4:g} {y - 12:g}v24"
    return f'<path {LINE} d="{plates}"/>', x - 4, x + 4


def _draw_resistor_down(x: float, value: str) -> str:
    centre = (TOP + GROUND) / 2
    box = f'<rect {LINE} x="{x - 7:g}" y="{centre - 18:g}" width="14" height="36"/>'
    wires = _draw_wire(x, TOP, x, centre - 18) + _draw_wire(x, centre + 18, x, GROUND)
    return box + wires + _draw_ground(x) + _draw_text(x + 12, centre + 4, value, "start")


def _draw_ground(x: float) -> str:
    lines = f"M{x:g} {GROUND}v8M{x - 10:g} {GROUND + 8}h20M{x - 6:g} {GROUND + 12}h12"
    return f'<path {LINE} d="{lines}M{x - 2:g} {GROUND + 16}h4"/>'


def _draw_wire(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path {LINE} d="M{x:g} {y:g}L{to_x:g} {to_y:g}"/>'


def _draw_text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text {TEXT} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'


def _show_value(value: float, unit: str) -> str:
    """Return a value of nH or pF with the largest unit that leaves a number from 1."""
    for size, name in PREFIXES[unit]:
        if value >= size:
            return f"{value / size:.4g} {name}"
    return f"{value:.3g} {PREFIXES[unit][-1][1]}"
