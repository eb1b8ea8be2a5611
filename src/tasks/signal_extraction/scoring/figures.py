"""The figures by which a person judges an extractor."""

from typing import TYPE_CHECKING

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import BLACK, BLUE, assign_styles, draw_figure
from tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

GREY = "#999999"


def draw_figures(params: SignalParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the figures of the winner (the first of `candidates`) and of all candidates."""
    figures = [
        _draw_first_window(candidates[0]),
        _draw_by_sample(candidates[0]),
        _draw_by_context(candidates),
        _draw_spectra(candidates[0]),
    ]
    if any(c.history is not None for c in candidates):
        figures.append(_draw_learning(candidates))
    return figures


def _draw_first_window(winner: Candidate) -> Figure:
    table = winner.test.tables["shown"]
    labels, top = (
        _list_labels(table),
        1.1 * float(table.drop(columns="seconds").abs().to_numpy().max()),
    )

    def draw(*panels: "Axes") -> None:
        for axes, label in zip(panels, labels, strict=True):
            axes.plot(table["seconds"], table["mixture"], color=GREY, linewidth=1, label="mixture")
            axes.plot(
                table["seconds"],
                table[f"truth {label}"],
                color=BLACK,
                linestyle="--",
                label="truth",
            )
            axes.plot(table["seconds"], table[f"answer {label}"], color=BLUE, label=winner.name)
            axes.set(ylabel=label, ylim=(-top, top))
        panels[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
        panels[-1].set_xlabel("seconds")

    caption = (
        "The first test window: the mixture, each component, and what "
        f"{winner.name} answers for it."
    )
    return draw_figure(
        "components", "Components", caption, (6.2, 1.3 * len(labels) + 0.6), draw, len(labels)
    )


def _draw_by_sample(winner: Candidate) -> Figure:
    table = winner.test.tables["by_sample"]

    def draw(axes: "Axes") -> None:
        axes.plot(table["sample"], table["mse"], color=BLUE, label=winner.name)
        axes.plot(table["sample"], table["floor"], color=BLACK, linestyle="--", label="floor")
        axes.fill_between(table["sample"], 0, table["floor"], color=GREY, alpha=0.25, linewidth=0)
        axes.set(xlabel="sample of the window", ylabel="mean squared error (test)", ylim=(0, None))
        axes.legend(loc="best")

    caption = (
        f"The error of {winner.name} at each sample of a window, and the least possible error "
        "there: no honest model reaches the grey area on average."
    )
    return draw_figure(
        "by_sample", "Error against position in the window", caption, (5.4, 3.9), draw
    )


def _draw_by_context(candidates: list[Candidate]) -> Figure:
    def draw(axes: "Axes") -> None:
        for candidate, (colour, marker) in assign_styles(candidates):
            table = candidate.test.tables["by_sample"]
            axes.plot(
                table["sample"],
                table["mse"],
                color=colour,
                marker=marker,
                markersize=4,
                markevery=max(1, len(table) // 8),
                label=candidate.name,
            )
        table = candidates[0].test.tables["by_sample"]
        axes.plot(table["sample"], table["floor"], color=BLACK, linestyle="--", label="floor")
        axes.set_xscale("log")
        axes.set(xlabel="samples of context", ylabel="mean squared error (test)", ylim=(0, None))
        axes.legend(loc="best")

    caption = (
        "The error of each candidate by the number of samples seen so far, "
        "above the least possible error."
    )
    return draw_figure("by_context", "Error against context", caption, (5.4, 3.9), draw, math=True)


def _draw_spectra(winner: Candidate) -> Figure:
    table = winner.test.tables["spectra"]
    labels = _list_labels(table)

    def draw(*panels: "Axes") -> None:
        for axes, label in zip(panels, labels, strict=True):
            axes.plot(
                table["frequency_hz"], table["mixture"], color=GREY, linewidth=1, label="mixture"
            )
            axes.plot(
                table["frequency_hz"],
                table[f"truth {label}"],
                color=BLACK,
                linestyle="--",
                label="truth",
            )
            axes.plot(
                table["frequency_hz"], table[f"answer {label}"], color=BLUE, label=winner.name
            )
            axes.set(ylabel=label, ylim=(0, None))
        panels[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
        panels[-1].set_xlabel("Hz")

    caption = (
        f"Mean amplitude spectra over all test windows, and of the answers of {winner.name}. "
        "A short window blurs a line over the inverse of its length."
    )
    return draw_figure(
        "spectra", "Spectra", caption, (6.2, 1.3 * len(labels) + 0.6), draw, len(labels), math=True
    )


def _draw_learning(candidates: list[Candidate]) -> Figure:
    def draw(axes: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        for candidate, (colour, marker) in assign_styles(candidates):
            if candidate.history is not None:
                rows = candidate.history
                axes.plot(
                    rows["epoch"],
                    rows["validation/loss"],
                    color=colour,
                    marker=marker,
                    markersize=4,
                    label=candidate.name,
                )
                axes.plot(
                    rows["epoch"], rows["train/loss"], color=colour, linewidth=1, linestyle=":"
                )
        least = candidates[0].validation.metrics["floor"]
        axes.axhline(least, color=BLACK, linestyle="--", linewidth=1, label="floor")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel="epoch", ylabel="mean squared error", ylim=(0, None))
        axes.legend(loc="best")

    caption = (
        "Validation error (solid, with marks) and training error (dotted) in each epoch, "
        "above the least possible."
    )
    return draw_figure("learning", "Learning curves", caption, (5.4, 3.9), draw)


def _list_labels(table: "pd.DataFrame") -> list[str]:
    return [str(name).removeprefix("truth ") for name in table if str(name).startswith("truth ")]
