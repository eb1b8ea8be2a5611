"""The figures by which a person judges a designer of filters."""

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import Line, assign_styles, draw_lines, trace_candidates
from tasks.filter_design.params import FilterParams


def draw_figures(params: FilterParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the share of masks that each candidate meets, by its calls of the simulator."""
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
    return [draw_lines("budgets", "Met against calls", caption, x_label, panels, xscale="log")]
