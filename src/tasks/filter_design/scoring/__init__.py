"""Whether designs meet their masks, by a simulation of its own, and what no design can."""

from tasks.filter_design.scoring.baselines import build_baselines, compute_bound
from tasks.filter_design.scoring.behaviour import check_behaviour
from tasks.filter_design.scoring.figures import draw_figures
from tasks.filter_design.scoring.invariants import build_longest_input, check_answers
from tasks.filter_design.scoring.scores import score

__all__ = [
    "build_baselines",
    "build_longest_input",
    "check_answers",
    "check_behaviour",
    "compute_bound",
    "draw_figures",
    "score",
]
