"""The figures by which a person judges a policy."""

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import (
    COLOURS,
    MARKERS,
    Line,
    assign_styles,
    draw_lines,
)
from tasks.answer_consensus.params import ConsensusParams

GREY = "#777777"


def draw_figures(params: ConsensusParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the figures of the winner (the first of `candidates`) and of all candidates."""
    return [_draw_costs(candidates), _draw_rounds(candidates[0])]


def _draw_costs(candidates: list[Candidate]) -> Figure:
    agents = candidates[0].test.tables["agents"]
    lines = [Line(agents["cost"], agents["accuracy"], "one agent", GREY, "x", "none")]
    for candidate, (colour, marker) in assign_styles(candidates):
        trace = candidate.test.tables["by_confidence"].sort_values("cost")
        cost, accuracy = (candidate.test.metrics[name] for name in ("cost", "accuracy"))
        lines.append(Line(trace["cost"], trace["accuracy"], None, colour))
        lines.append(Line([cost], [accuracy], candidate.name, colour, marker, "none"))
    caption = (
        "Each candidate at the price that it was tuned to; a thin line is the same candidate asked "
        "to stop at other confidences. Crosses are single agents; nothing is above the dashed line."
    )
    panels = {"accuracy (test)": lines}
    levels = {"any agent right": candidates[0].test.metrics["any_right"]}
    title = "Accuracy against cost"
    return draw_lines("costs", title, caption, "mean cost of a question, $", panels, levels)


def _draw_rounds(winner: Candidate) -> Figure:
    table = winner.test.tables["rounds"]
    total = len(winner.test.per_example["id"])
    lines = []
    for number, name in enumerate(table.columns.drop("round")):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        lines.append(Line(table["round"], table[name] / total, str(name), colour, marker))
    caption = f"On which share of the questions {winner.name} asks each agent, in which round."
    panels = {"share of the questions (test)": lines}
    return draw_lines("rounds", "Who is asked when", caption, "round", panels, ylim=(0, None))
