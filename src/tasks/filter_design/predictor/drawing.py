"""The picture of an answer: its response over the mask, as SVG."""

import math
from collections.abc import Iterator

import numpy as np

from .rows import Spec

PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, PLOT_BOTTOM = 70, 560, 12, 212
WIDTH, HEIGHT = PLOT_RIGHT + 20, PLOT_BOTTOM + 40
DEEPEST_DB, HIGHEST_DB = 20.0, 2.0  # that are shown below the mask, and above 0 dB
LINE = 'fill="none" stroke="currentColor" stroke-width="1.6"'
TEXT = 'font-family="sans-serif" font-size="11" fill="currentColor"'
GREY = 'fill="#bbbbbb"'
PREFIXES = ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1, "Hz"))


def draw_picture(spec: Spec, frequencies: np.ndarray, losses: np.ndarray) -> str:
    """Return the response [F] of a design as SVG: lines, areas and numbers, no script."""
    marks = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *draw_response(spec, frequencies, losses),
        "</svg>",
    ]
    return "\n".join(marks) + "\n"


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
        yield draw_text(x, PLOT_BOTTOM + 18 + 13 * (place % 2), show_frequency(edge), "middle")


def draw_area(left: float, right: float, top: float, bottom: float) -> str:
    """Fill what the response must stay out of."""
    size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
    return f'<rect {GREY} x="{left:.1f}" y="{top:.1f}" {size}/>'


def draw_wire(x: float, y: float, to_x: float, to_y: float) -> str:
    """Draw a straight line."""
    return f'<path {LINE} d="M{x:g} {y:g}L{to_x:g} {to_y:g}"/>'


def draw_text(x: float, y: float, text: str, anchor: str) -> str:
    """Write text; `anchor`: start, middle or end."""
    return f'<text {TEXT} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'


def show_frequency(value: float) -> str:
    """Return a frequency with the largest unit that leaves a number from 1."""
    size, name = next(pair for pair in PREFIXES if value >= pair[0])
    return f"{value / size:.4g} {name}"
