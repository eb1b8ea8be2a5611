"""The figures by which a person judges a policy."""

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import (
    Line,
    assign_styles,
    draw_lines,
)
from tasks.answer_consensus.params import ConsensusParams

GREY = "#777777"


def draw_figures(params: ConsensusParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the accuracy of each candidate and of single agents, by what they cost."""
    agents = candidates[0].test.tables["agents"]
    lines = [Line(agents["cost"], agents["accuracy"], "one agent", GREY, "x", "none")]
    for candidate, (colour, marker) in assign_styles(candidates):
        cost, accuracy = (candidate.test.metrics[name] for name in ("cost", "accuracy"))
        lines.append(Line([cost], [accuracy], candidate.name, colour, marker, "none"))
    caption = (
        "Each candidate at the price that it was tuned to. Crosses are single agents; nothing is "
        "above the dashed line."
    )
    panels = {"accuracy (test)": lines}
    levels = {"any agent right": candidates[0].test.metrics["any_right"]}
    title = "Accuracy against cost"
    return [draw_lines("costs", title, caption, "mean cost of a question, $", panels, levels)]
