"""How well a predictor recovers the components, against the least error that is possible."""

from tasks.signal_extraction.scoring.baselines import build_baselines, compute_bound
from tasks.signal_extraction.scoring.behaviour import check_behaviour
from tasks.signal_extraction.scoring.figures import draw_figures
from tasks.signal_extraction.scoring.invariants import (
    build_longest_input,
    check_answers,
)
from tasks.signal_extraction.scoring.scores import score, score_answer

__all__ = [
    "build_baselines",
    "build_longest_input",
    "check_answers",
    "check_behaviour",
    "compute_bound",
    "draw_figures",
    "score",
    "score_answer",
]
