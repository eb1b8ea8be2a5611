"""Figures as SVG that is the same in every run, in one style for all tasks.

Colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart; every line
also has its own marker.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plumbline.contract.records import Candidate, Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#222222"
)  # fmt: skip
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = "osD^vPX"
WHOLE_NUMBERS = ("epoch", "round")  # on an x axis
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, searchable, in the reader's own font
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.transparent": True,
    "savefig.bbox": "tight",
}


def assign_styles(candidates: Sequence[Candidate]) -> list[tuple[Candidate, tuple[str, str]]]:
    """Give each candidate a colour and marker that it keeps in every figure, at any rank."""
    names = sorted(candidate.name for candidate in candidates)
    styles = {}
    for number, name in enumerate(names):
        styles[name] = (COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])
    return [(candidate, styles[candidate.name]) for candidate in candidates]


@dataclass(frozen=True)
class Line:
    """A line of a figure, or points without a line (style "none")."""

    x: Any
    y: Any
    label: str | None = None
    colour: str = BLACK
    marker: str = ""
    style: str = "-"


def trace_candidates(candidates: Sequence[Candidate], table: str, x: str, y: str) -> list[Line]:
    """Return for each candidate the line of two columns of a table of its test scores."""
    lines = []
    for candidate, (colour, marker) in assign_styles(candidates):
        rows = candidate.test.tables[table]
        lines.append(Line(rows[x], rows[y], candidate.name, colour, marker))
    return lines


def trace_losses(candidates: Sequence[Candidate]) -> list[Line]:
    """Return losses of validation and, dotted, of train by epoch, where there are several."""
    lines = []
    for candidate, (colour, marker) in assign_styles(candidates):
        losses = [("validation/loss", candidate.name, marker, "-"), ("train/loss", None, "", ":")]
        for column, label, mark, style in losses:
            if candidate.history is not None and column in candidate.history:
                rows = candidate.history.dropna(subset=[column])
                if len(rows) > 1:
                    lines.append(Line(rows["epoch"], rows[column], label, colour, mark, style))
    return lines


def draw_lines(
    name: str,
    title: str,
    caption: str,
    x_label: str,
    panels: Mapping[str, Sequence[Line]],
    levels: Mapping[str, float] | None = None,
    **axis: Any,
) -> Figure:
    """Return a figure with a panel of lines for each y label.

    `levels` are horizontal lines by their label; `axis` is as in Axes.set, such as xscale="log".
    """
    is_single = len(panels) == 1

    def draw(*all_axes: "Axes") -> None:
        for axes, (y_label, lines) in zip(all_axes, panels.items(), strict=True):
            for line in lines:
                _plot_line(axes, line)
            for label, level in (levels or {}).items():
                axes.axhline(level, color=BLACK, linestyle="--", linewidth=1, label=label)
            axes.set(ylabel=y_label, **axis)
        all_axes[-1].set_xlabel(x_label)
        if x_label in WHOLE_NUMBERS:
            all_axes[-1].locator_params(axis="x", integer=True)
        if is_single:
            all_axes[0].legend(loc="best")
        else:
            all_axes[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)

    size = (5.4, 3.9) if is_single else (6.2, 1.3 * len(panels) + 0.6)
    return draw_figure(name, title, caption, size, draw, len(panels), math="log" in axis.values())


def _plot_line(axes: "Axes", line: Line) -> None:
    axes.plot(
        line.x,
        line.y,
        color=line.colour,
        marker=line.marker,
        markersize=4,
        markevery=1 if line.style == "none" else max(1, len(line.x) // 8),
        linestyle=line.style,
        linewidth=1.5 if line.label else 1,
        label=line.label,
    )


def draw_figure(
    name: str,
    title: str,
    caption: str,
    size_inches: tuple[float, float],
    draw: Callable[..., None],
    num_panels: int = 1,
    math: bool = False,
) -> Figure:
    """Return the figure that `draw` makes of `num_panels` Axes, which are its arguments.

    The panels are below each other and share their x axis. `math`: $...$ is read as a formula, as
    the ticks of a logarithmic axis need it; names from data may hold a dollar.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    # The salt makes ids, and with them all bytes, the same in every run.
    style = STYLE | {"text.parse_math": math, "svg.hashsalt": name}
    no_trace: dict[str, Any] = {"Date": None, "Creator": None}
    text = io.StringIO()
    with rc_context(style):
        canvas = Canvas(figsize=size_inches, layout="constrained")
        draw(*canvas.subplots(num_panels, sharex=True, squeeze=False)[:, 0])
        canvas.savefig(text, format="svg", metadata=no_trace)
    return Figure(name, title, caption, _prepare_inline(text.getvalue(), title, name))


def _prepare_inline(svg: str, title: str, name: str) -> str:
    """Return the <svg> element alone, named for screen readers, with ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{name}-", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
