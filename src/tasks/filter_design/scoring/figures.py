"""The figures by which a person judges a designer of filters."""

from typing import TYPE_CHECKING

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import (
    Line,
    assign_styles,
    draw_figure,
    draw_lines,
    trace_candidates,
)
from tasks.filter_design.params import FilterParams

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

DEEPEST_DB = 20.0  # that a panel shows below the mask
MASK_COLOUR = "#bbbbbb"
PANEL_INCHES = 1.75


def draw_figures(params: FilterParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the figures of the winner (the first of `candidates`) and of all candidates."""
    return [_draw_responses(candidates), _draw_budgets(candidates)]


def _draw_responses(candidates: list[Candidate]) -> Figure:
    masks = candidates[0].test.tables["responses"]
    rows = list(masks["row"].unique())

    def draw(*panels: "Axes") -> None:
        for axes, row in zip(panels, rows, strict=True):
            _draw_mask(axes, masks[masks["row"] == row])
            for candidate, (colour, _) in assign_styles(candidates):
                table = candidate.test.tables["responses"]
                own = table[table["row"] == row]
                line = own["frequency_hz"] / _find_centre(own)
                axes.plot(line, own["s21_db"], color=colour, linewidth=1.3, label=candidate.name)
            label = masks[masks["row"] == row]["label"].iloc[0]
            axes.set_title(label, fontsize=9, loc="left")
            axes.set_ylabel("dB")
        panels[0].legend(loc="lower left", fontsize=8)
        panels[-1].set_xscale("log")
        panels[-1].set_xlabel("frequency over pass edge, or over the centre of the band")

    caption = (
        "Responses of each candidate's best design to some test masks, with losses and standard "
        "values, by nodal analysis. A response must stay out of the grey areas."
    )
    size = (6.4, PANEL_INCHES * len(rows) + 0.5)
    title = "Responses over masks"
    return draw_figure("responses", title, caption, size, draw, len(rows), math=True)


def _draw_mask(axes: "Axes", table: "pd.DataFrame") -> None:
    """Shade what the response must stay out of; the panel shows a little below it."""
    first = table.iloc[0]
    edges = ["pass_low_hz", "pass_high_hz", "stop_low_hz", "stop_high_hz"]
    pass_low, pass_high, stop_low, stop_high = first[edges].astype(float) / _find_centre(table)
    low, high = 0.1, 10.0
    bottom = -float(first["min_attenuation_db"]) - DEEPEST_DB
    kind = str(first["label"]).split()[0]
    starts = {"low-pass": low, "high-pass": pass_low, "band-pass": pass_low}
    ends = {"low-pass": pass_high, "high-pass": high, "band-pass": pass_high}
    axes.fill_between(
        [starts[kind], ends[kind]], bottom, -float(first["max_loss_db"]), color=MASK_COLOUR
    )
    ceiling = -float(first["min_attenuation_db"])
    if kind != "low-pass":
        axes.fill_between([low, stop_low], ceiling, 0, color=MASK_COLOUR)
    if kind != "high-pass":
        axes.fill_between([stop_high, high], ceiling, 0, color=MASK_COLOUR)
    axes.set(xlim=(low, high), ylim=(bottom, 2))


def _find_centre(table: "pd.DataFrame") -> float:
    first = table.iloc[0]
    return float((first["pass_low_hz"] * first["pass_high_hz"]) ** 0.5)


def _draw_budgets(candidates: list[Candidate]) -> Figure:
    lines = trace_candidates(candidates, "by_budget", "calls", "met")
    for candidate, (colour, marker) in assign_styles(candidates):
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
