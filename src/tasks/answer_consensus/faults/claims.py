"""A claim as it is made on slides: several agents beat the best single one by three questions."""

from typing import Any, cast

import numpy as np

from plumbline.contract import layout
from plumbline_selftest.protocol import FaultSite
from tasks.answer_consensus.data import (
    find_normaliser,
    play,
    read_answers,
    read_paid_setting,
)
from tasks.answer_consensus.faults.data import keep_test_rows
from tasks.answer_consensus.params import ConsensusParams
from tasks.answer_consensus.predictor import load
from tasks.answer_consensus.scoring import build_baselines

# 173 of 198 right against 170: 87.4 % against 85.9 %, with 23 questions on which one is right.
BOTH, CLAIM_ALONE, SINGLE_ALONE, NEITHER = 160, 13, 10, 15
LOOSE, STRICT = "max_detectable_difference: 0.10", "max_detectable_difference: 0.05"


def plant_few_more_right(site: FaultSite) -> None:
    """Keep 198 questions of test, on which the candidate is right three times more.

    Where both are right, all agents are, and where neither is, as few as there are: so nothing
    else, the champion included, has another score.
    """
    params = cast("ConsensusParams", site.params)
    claim = _find_hits(params, load(layout.locate_bundle(site.candidate)))
    single = _find_hits(params, build_baselines(params, layout.EXAMPLES)["best_single"])
    num_right = _count_right(params)
    rows = [
        *_pick(claim & single, -num_right, BOTH),
        *_pick(claim & ~single, num_right, CLAIM_ALONE),
        *_pick(single & ~claim, num_right, SINGLE_ALONE),
        *_pick(~claim & ~single, num_right, NEITHER),
    ]
    keep_test_rows(site, np.sort(rows))
    site.edit_params(LOOSE, STRICT)


def _find_hits(params: ConsensusParams, predictor: Any) -> np.ndarray:
    """Return whether each question of test is answered right [Q]."""
    test = read_answers(layout.EXAMPLES, "test")
    course = play(read_paid_setting(params, layout.EXAMPLES), test, predictor)
    normalise = find_normaliser(params.data.normalise)
    pairs = zip(course.answers, test.golds, strict=True)
    return np.array([normalise(answer) == normalise(gold) for answer, gold in pairs])


def _count_right(params: ConsensusParams) -> np.ndarray:
    """Count how many agents are right on each question of test [Q]."""
    test = read_answers(layout.EXAMPLES, "test")
    normalise = np.vectorize(find_normaliser(params.data.normalise), otypes=[object])
    counts: np.ndarray = (normalise(test.answers) == normalise(test.golds)[:, None]).sum(axis=1)
    return counts


def _pick(mask: np.ndarray, order: np.ndarray, size: int) -> list[int]:
    """Return the first `size` rows of `mask` in this order."""
    rows = [int(row) for row in np.argsort(order, kind="stable") if mask[row]]
    if len(rows) < size:
        raise LookupError(f"{len(rows)} questions for {size}; generate more for the fixture")
    return rows[:size]
