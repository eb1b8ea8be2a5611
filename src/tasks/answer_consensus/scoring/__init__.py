"""How good a policy is, at which price, and how good it could be."""

from tasks.answer_consensus.scoring.baselines import build_baselines, compute_bound
from tasks.answer_consensus.scoring.behaviour import check_behaviour
from tasks.answer_consensus.scoring.figures import draw_figures
from tasks.answer_consensus.scoring.invariants import (
    build_longest_input,
    check_answers,
)
from tasks.answer_consensus.scoring.scores import score, score_answer

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
