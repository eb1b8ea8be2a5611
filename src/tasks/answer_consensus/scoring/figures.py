"""The figures by which a person judges a policy."""

import numpy as np

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import (
    BLUE,
    COLOURS,
    MARKERS,
    Line,
    assign_styles,
    draw_lines,
)
from tasks.answer_consensus.params import ConsensusParams

GREY = "#777777"
NUM_BINS = 10


def draw_figures(params: ConsensusParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the figures of the winner (the first of `candidates`) and of all candidates."""
    winner = candidates[0]
    return [_draw_costs(candidates), _draw_rounds(winner), _draw_reliability(winner)]


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


def _draw_reliability(winner: Candidate) -> Figure:
    confidence = winner.test.per_example["confidence"]
    hits = winner.test.per_example["accuracy"]
    bins = np.minimum((confidence * NUM_BINS).astype(int), NUM_BINS - 1)
    masks = [bins == number for number in np.unique(bins)]
    said = [confidence[mask].mean() for mask in masks]
    right = [hits[mask].mean() for mask in masks]
    lines = [Line([0, 1], [0, 1], style="--"), Line(said, right, winner.name, BLUE, "o", "none")]
    caption = f"What {winner.name} says of its answers against what is right."
    panels = {"share that is right (test)": lines}
    return draw_lines("reliability", "Confidence and accuracy", caption, "confidence", panels)
