"""How good a text classifier is: scores, baselines, bounds, behaviour and figures."""

from plumbline.tasks.text_classification.scoring.baselines import build_baselines, compute_bound
from plumbline.tasks.text_classification.scoring.behaviour import check_behaviour
from plumbline.tasks.text_classification.scoring.figures import draw_figures
from plumbline.tasks.text_classification.scoring.invariants import (
    build_longest_input,
    check_answers,
)
from plumbline.tasks.text_classification.scoring.scores import score, score_answer

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
