"""How well a model finds passages, what it has to beat, and how good it could be."""

from tasks.retrieval.scoring.baselines import build_baselines, compute_bound
from tasks.retrieval.scoring.behaviour import check_behaviour
from tasks.retrieval.scoring.figures import draw_figures
from tasks.retrieval.scoring.invariants import build_longest_input, check_answers
from tasks.retrieval.scoring.scores import find_unknown, score, score_answer

__all__ = [
    "build_baselines",
    "build_longest_input",
    "check_answers",
    "check_behaviour",
    "compute_bound",
    "draw_figures",
    "find_unknown",
    "score",
    "score_answer",
]
