"""Faulty policies."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from plumbline.contract import layout
from plumbline.process.files import read_json
from plumbline_selftest.protocol import FaultSite
from tasks.answer_consensus.data import read_answers, read_paid_setting
from tasks.answer_consensus.data.storage import write_setting
from tasks.answer_consensus.models.tallies import count_answers
from tasks.answer_consensus.models.votes import build_vote
from tasks.answer_consensus.params import ConsensusParams

CODE = Path(__file__).with_name("faulty_predictor.py")
HARMLESS: dict[str, Any] = {
    "asks_everyone": False,  # stops only where nobody is left
    "repeats": False,  # asks the first agent again
    "overdraws": False,  # asks the dearest agent, whatever is left
    "is_sure": False,  # says 1.0 of every answer
    "reads": False,  # answers what is last in the alphabet
    "answers": [],  # [what agents answered, answer], known by heart
    "instead": None,  # the config of another policy, which answers
}


def plant_repetition(site: FaultSite) -> None:
    """Ask the first agent again."""
    site.wrap_predictor(CODE, HARMLESS | {"repeats": True})


def plant_overdraft(site: FaultSite) -> None:
    """Ask the dearest agents, where what one question may cost pays for one of them."""
    setting = read_paid_setting(cast("ConsensusParams", site.params), layout.EXAMPLES)
    write_setting(layout.EXAMPLES, replace(setting, max_cost=1.5 * max(setting.costs)))
    site.accept_data()
    site.wrap_predictor(CODE, HARMLESS | {"overdraws": True})


def plant_extravagance(site: FaultSite) -> None:
    """Ask every agent, at twice the price."""
    site.wrap_predictor(CODE, HARMLESS | {"asks_everyone": True})


def plant_certainty(site: FaultSite) -> None:
    """Be sure of every answer."""
    site.wrap_predictor(CODE, HARMLESS | {"is_sure": True})


def plant_reading(site: FaultSite) -> None:
    """Choose by the text of an answer."""
    site.wrap_predictor(CODE, HARMLESS | {"reads": True})


def plant_known_answers(site: FaultSite) -> None:
    """Know gold by heart, also where no agent is right."""
    site.wrap_predictor(CODE, HARMLESS | {"answers": _read_golds(site, max_questions=100)})


def plant_invented_answer(site: FaultSite) -> None:
    """Know gold of one question where no agent is right."""
    site.wrap_predictor(CODE, HARMLESS | {"answers": _read_golds(site, max_questions=1)})


def plant_plurality(site: FaultSite) -> None:
    """Let the best agents that mean_cost pays for vote, one vote each, instead of the policy."""
    params = cast("ConsensusParams", site.params)
    setting = read_paid_setting(params, layout.EXAMPLES)
    tallies = count_answers(setting, read_answers(layout.EXAMPLES, "train"))
    vote = build_vote(setting, tallies, "plurality")
    site.wrap_predictor(CODE, HARMLESS | {"instead": vote})


def _read_golds(site: FaultSite, max_questions: int) -> list[list[Any]]:
    """List what is known on the way of questions on which no agent is right, each with gold.

    The policy asks in the order of its plan, so that is every beginning of their answers.
    """
    plan = read_json(layout.locate_bundle(site.candidate) / "config.json")["plan"]
    test = read_answers(layout.EXAMPLES, "test")
    known: list[list[Any]] = []
    rows = np.flatnonzero((test.answers != test.golds[:, None]).all(axis=1))
    for row in rows[:max_questions]:
        given = test.answers[row, plan].tolist()
        known += [[given[:size], test.golds[row]] for size in range(2, len(given) + 1)]
    return known
