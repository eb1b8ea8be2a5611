"""The pictures by which a person judges an extractor, as SVG that is the same in every run.

Colours are those of Okabe and Ito (2008), told apart by colour-blind readers too; every line also has its own marker.
"""

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import Candidate, Figure
from plumbline.tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS, BLACK, GREY = "osD^vPX", "#222222", "#999999"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, searchable, and drawn in the reader's own font
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


def figures(params: SignalParams, candidates: list[Candidate]) -> list[Figure]:
    """The figures of the winner (the first of `candidates`) and of all beside each other."""
    drawn = [_shown(candidates[0]), _by_sample(candidates[0]), _by_context(candidates), _spectra(candidates[0])]
    if any(c.history is not None for c in candidates):
        drawn.append(_learning(candidates))
    return drawn


def _shown(winner: Candidate) -> Figure:
    table = winner.test.tables["shown"]
    labels = _labels(table)

    def draw(panels: "list[Axes]") -> None:
        for axes, label in zip(panels, labels, strict=True):
            axes.plot(table["seconds"], table["mixture"], color=GREY, linewidth=1, label="mixture")
            axes.plot(table["seconds"], table[f"truth {label}"], color=BLACK, linestyle="--", label="truth")
            axes.plot(table["seconds"], table[f"answer {label}"], color=COLOURS[0], label=winner.name)
            axes.set_ylabel(label)
            axes.set_ylim(-1.4, 1.4)
        panels[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
        panels[-1].set_xlabel("seconds")

    caption = f"The first test window: the mixture, each component as it is, and what {winner.name} says of it."
    return _figure("components", "Components", caption, (6.2, 1.3 * len(labels) + 0.6), len(labels), draw)


def _by_sample(winner: Candidate) -> Figure:
    table = winner.test.tables["by_sample"]

    def draw(panels: "list[Axes]") -> None:
        axes = panels[0]
        axes.plot(table["sample"], table["mse"], color=COLOURS[0], label=winner.name)
        axes.plot(table["sample"], table["floor"], color=BLACK, linestyle="--", label="floor")
        axes.fill_between(table["sample"], 0, table["floor"], color=GREY, alpha=0.25, linewidth=0)
        axes.set(xlabel="sample of the window", ylabel="mean squared error (test)", ylim=(0, None))
        axes.legend(loc="best")

    caption = (
        f"The error of {winner.name} at each sample of a window, and the least that is possible there: nothing honest "
        "reaches the grey area on average."
    )
    return _figure("by_sample", "Error against position in the window", caption, (5.4, 3.9), 1, draw)


def _by_context(candidates: list[Candidate]) -> Figure:
    def draw(panels: "list[Axes]") -> None:
        axes = panels[0]
        for candidate, (colour, marker) in _styled(candidates):
            table = candidate.test.tables["by_sample"]
            axes.plot(
                table["sample"], table["mse"], color=colour, marker=marker, markersize=4,
                markevery=max(1, len(table) // 8), label=candidate.name,
            )  # fmt: skip
        table = candidates[0].test.tables["by_sample"]
        axes.plot(table["sample"], table["floor"], color=BLACK, linestyle="--", label="floor")
        axes.set_xscale("log")
        axes.set(xlabel="samples of context", ylabel="mean squared error (test)", ylim=(0, None))
        axes.legend(loc="best")

    caption = "What each candidate makes of the samples seen so far, above the least error that is possible."
    return _figure("by_context", "Error against context", caption, (5.4, 3.9), 1, draw)


def _spectra(winner: Candidate) -> Figure:
    table = winner.test.tables["spectra"]
    labels = _labels(table)

    def draw(panels: "list[Axes]") -> None:
        rows = table[table["frequency_hz"] <= table["frequency_hz"].max() / 4]
        for axes, label in zip(panels, labels, strict=True):
            axes.plot(rows["frequency_hz"], rows["mixture"], color=GREY, linewidth=1, label="mixture")
            axes.plot(rows["frequency_hz"], rows[f"truth {label}"], color=BLACK, linestyle="--", label="truth")
            axes.plot(rows["frequency_hz"], rows[f"answer {label}"], color=COLOURS[0], label=winner.name)
            axes.set_yscale("log")
            axes.set_ylabel(label)
        panels[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
        panels[-1].set_xlabel("Hz")

    caption = f"Mean amplitude spectra over all test windows: what {winner.name} adds where a component has nothing."
    return _figure("spectra", "Spectra", caption, (6.2, 1.3 * len(labels) + 0.6), len(labels), draw)


def _learning(candidates: list[Candidate]) -> Figure:
    def draw(panels: "list[Axes]") -> None:
        from matplotlib.ticker import MaxNLocator

        axes = panels[0]
        for candidate, (colour, marker) in _styled(candidates):
            if candidate.history is not None:
                rows = candidate.history
                axes.plot(
                    rows["epoch"], rows["validation/loss"], color=colour, marker=marker, markersize=4,
                    label=candidate.name,
                )  # fmt: skip
                axes.plot(rows["epoch"], rows["train/loss"], color=colour, linewidth=1, linestyle=":")
        least = candidates[0].validation.metrics["floor"]
        axes.axhline(least, color=BLACK, linestyle="--", linewidth=1, label="floor")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel="epoch", ylabel="mean squared error", ylim=(0, None))
        axes.legend(loc="best")

    caption = "Validation (solid, with marks) and training error (dotted), epoch by epoch, above the least possible."
    return _figure("learning", "Learning curves", caption, (5.4, 3.9), 1, draw)


def _labels(table: "pd.DataFrame") -> list[str]:
    return [str(name).removeprefix("truth ") for name in table if str(name).startswith("truth ")]


def _styled(candidates: list[Candidate]) -> list[tuple[Candidate, tuple[str, str]]]:
    """Each candidate with a colour and marker that it keeps in every figure, whatever its rank."""
    names = sorted(candidate.name for candidate in candidates)
    looks = {name: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, name in enumerate(names)}
    return [(candidate, looks[candidate.name]) for candidate in candidates]


def _figure(
    name: str,
    title: str,
    caption: str,
    size_inches: tuple[float, float],
    num_panels: int,
    draw: "Callable[[list[Axes]], None]",
) -> Figure:
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    with rc_context(STYLE | {"svg.hashsalt": name}):  # the salt makes every run's ids the same
        canvas = Canvas(figsize=size_inches, layout="constrained")
        draw(list(np.atleast_1d(canvas.subplots(num_panels, sharex=True))))
        text = io.StringIO()
        no_trace: dict[str, Any] = {"Date": None, "Creator": None}
        canvas.savefig(text, format="svg", metadata=no_trace)
    return Figure(name, title, caption, _inline(text.getvalue(), title, name))


def _inline(svg: str, title: str, name: str) -> str:
    """The <svg> element alone, named for screen readers, its ids made the figure's own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{name}-", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
