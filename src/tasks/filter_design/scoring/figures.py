"""The figures by which a person judges a designer of filters."""

from typing import TYPE_CHECKING

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting import plots
from plumbline.reporting.plots import Line, draw_lines
from tasks.filter_design.params import FilterParams

if TYPE_CHECKING:
    import pandas as pd

STYLES = {
    3: (plots.BLUE, "o"),
    5: (plots.RED, "s"),
    7: (plots.GREEN, "D"),
}  # by the number of parts


def draw_figures(params: FilterParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the share of masks that are met by calls of the simulator, and what more parts bring."""
    figures = [_draw_budgets(candidates)]
    table = candidates[0].test.tables["goals"]
    if not table.empty:
        figures.append(_draw_goals(candidates[0].name, table))
    return figures


def _draw_budgets(candidates: list[Candidate]) -> Figure:
    lines = plots.trace_candidates(candidates, "by_budget", "calls", "met")
    for candidate, (colour, marker) in plots.assign_styles(candidates):
        if candidate.control:
            table = candidate.control.tables["by_budget"]
            label = f"{candidate.name}, control"
            lines.append(Line(table["calls"], table["met"], label, colour, marker, "--"))
    num_rows = int(candidates[0].test.tables["by_budget"]["rows"].iloc[0])
    caption = (
        f"Share of {num_rows} possible test masks that are met, by how often a candidate may "
        "simulate a design; dashed: the control, trained on shuffled designs. Search hides what a "
        "proposal is worth: compare at the same number."
    )
    x_label = "calls of the simulator for one design"
    panels = {"share of masks met": lines}
    return draw_lines("budgets", "Met against calls", caption, x_label, panels, xscale="log")


def _draw_goals(name: str, table: "pd.DataFrame") -> Figure:
    lines = [Line(one["margin_db"], one["yield"], style=":") for _, one in table.groupby("mask")]
    for parts, style in STYLES.items():
        rows = table[table["parts"] == parts]
        lines.append(Line(rows["margin_db"], rows["yield"], f"{parts} parts", *style, "none"))
    caption = (
        f"The designs of {name} that none other beats in margin, yield and few parts, for test "
        "masks that leave the number of parts open; a dotted line joins those of one mask."
    )
    return draw_lines("goals", "Several goals", caption, "margin in dB", {"yield": lines})
