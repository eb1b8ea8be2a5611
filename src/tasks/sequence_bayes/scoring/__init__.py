"""How near a predictor comes to the exact Bayesian answer, and whether its doubt is right."""

from tasks.sequence_bayes.scoring.baselines import build_baselines, compute_bound
from tasks.sequence_bayes.scoring.behaviour import check_behaviour
from tasks.sequence_bayes.scoring.figures import draw_figures
from tasks.sequence_bayes.scoring.invariants import build_longest_input, check_answers
from tasks.sequence_bayes.scoring.scores import score, score_answer

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
