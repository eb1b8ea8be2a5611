"""The pictures by which a person judges an extractor."""

from typing import TYPE_CHECKING

from plumbline.contract.task import Candidate, Figure
from plumbline.reporting.plots import BLACK, BLUE, figure, styled
from plumbline.tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

GREY = "#999999"


def figures(params: SignalParams, candidates: list[Candidate]) -> list[Figure]:
    """The figures of the winner (the first of `candidates`) and of all beside each other."""
    drawn = [
        _shown(candidates[0]),
        _by_sample(candidates[0]),
        _by_context(candidates),
        _spectra(candidates[0]),
    ]
    if any(c.history is not None for c in candidates):
        drawn.append(_learning(candidates))
    return drawn


def _shown(winner: Candidate) -> Figure:
    table = winner.test.tables["shown"]
    labels, top = _labels(table), 1.1 * float(table.drop(columns="seconds").abs().to_numpy().max())

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

    caption = f"The first test window: the mixture, each component as it is, and what {winner.name} says of it."
    return figure(
        "components", "Components", caption, (6.2, 1.3 * len(labels) + 0.6), draw, len(labels)
    )


def _by_sample(winner: Candidate) -> Figure:
    table = winner.test.tables["by_sample"]

    def draw(axes: "Axes") -> None:
        axes.plot(table["sample"], table["mse"], color=BLUE, label=winner.name)
        axes.plot(table["sample"], table["floor"], color=BLACK, linestyle="--", label="floor")
        axes.fill_between(table["sample"], 0, table["floor"], color=GREY, alpha=0.25, linewidth=0)
        axes.set(xlabel="sample of the window", ylabel="mean squared error (test)", ylim=(0, None))
        axes.legend(loc="best")

    caption = (
        f"The error of {winner.name} at each sample of a window, and the least that is possible there: nothing honest "
        "reaches the grey area on average."
    )
    return figure("by_sample", "Error against position in the window", caption, (5.4, 3.9), draw)


def _by_context(candidates: list[Candidate]) -> Figure:
    def draw(axes: "Axes") -> None:
        for candidate, (colour, marker) in styled(candidates):
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
    return figure("by_context", "Error against context", caption, (5.4, 3.9), draw, math=True)


def _spectra(winner: Candidate) -> Figure:
    table = winner.test.tables["spectra"]
    labels = _labels(table)

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
        f"Mean amplitude spectra over all test windows, and what {winner.name} makes of them. A short window "
        "blurs a line over the inverse of its length."
    )
    return figure(
        "spectra", "Spectra", caption, (6.2, 1.3 * len(labels) + 0.6), draw, len(labels), math=True
    )


def _learning(candidates: list[Candidate]) -> Figure:
    def draw(axes: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        for candidate, (colour, marker) in styled(candidates):
            if candidate.history is not None:
                rows = candidate.history
                axes.plot(
                    rows["epoch"], rows["validation/loss"], color=colour, marker=marker, markersize=4,
                    label=candidate.name,
                )  # fmt: skip
                axes.plot(
                    rows["epoch"], rows["train/loss"], color=colour, linewidth=1, linestyle=":"
                )
        least = candidates[0].validation.metrics["floor"]
        axes.axhline(least, color=BLACK, linestyle="--", linewidth=1, label="floor")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel="epoch", ylabel="mean squared error", ylim=(0, None))
        axes.legend(loc="best")

    caption = "Validation (solid, with marks) and training error (dotted), epoch by epoch, above the least possible."
    return figure("learning", "Learning curves", caption, (5.4, 3.9), draw)


def _labels(table: "pd.DataFrame") -> list[str]:
    return [str(name).removeprefix("truth ") for name in table if str(name).startswith("truth ")]
