"""The figures by which a person judges an extractor."""

from typing import TYPE_CHECKING

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import (
    BLACK,
    BLUE,
    Line,
    draw_lines,
)
from tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd

GREY = "#999999"


def draw_figures(params: SignalParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the figures of the winner (the first of `candidates`) and of all candidates."""
    return [_draw_first_window(candidates[0]), _draw_by_sample(candidates[0])]


def _draw_first_window(winner: Candidate) -> Figure:
    caption = (
        "The first test window: the mixture, each component, and what "
        f"{winner.name} answers for it."
    )
    panels = _trace_components(winner.test.tables["shown"], winner.name)
    return draw_lines("components", "Components", caption, "seconds", panels)


def _draw_by_sample(winner: Candidate) -> Figure:
    table = winner.test.tables["by_sample"]
    caption = (
        f"The error of {winner.name} at each sample of a window, and the least possible error "
        "there: no honest model is below the dashed line on average."
    )
    floor = Line(table["sample"], table["floor"], "floor", style="--")
    lines = [Line(table["sample"], table["mse"], winner.name, BLUE), floor]
    title = "Error against position in the window"
    panels = {"mean squared error (test)": lines}
    return draw_lines("by_sample", title, caption, "sample of the window", panels, ylim=(0, None))


def _trace_components(table: "pd.DataFrame", winner: str) -> dict[str, list[Line]]:
    """Return the mixture, the truth and the answer of each component, by its label."""
    panels = {}
    for column in table.filter(like="truth "):
        label = str(column).removeprefix("truth ")
        panels[label] = [
            Line(table["seconds"], table["mixture"], "mixture", GREY),
            Line(table["seconds"], table[column], "truth", BLACK, style="--"),
            Line(table["seconds"], table[f"answer {label}"], winner, BLUE),
        ]
    return panels
