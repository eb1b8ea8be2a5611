"""Does the winner know the obvious?

Order and text mean nothing, one more vote for an answer makes it no less sure, what all say is
said, and of nothing nothing is known.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Case
from plumbline.contract.task import Predictor
from tasks.answer_consensus.data import (
    AnswerSetting,
    find_normaliser,
    read_inputs,
    read_setting,
)
from tasks.answer_consensus.params import ConsensusParams

NUM_ROWS = 200
SAME = 1e-6
MAX_FAILURES = 5
UNANIMOUS = "1234"  # a number and a text: the same under every way to normalise


def check_behaviour(params: ConsensusParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Run every behavioural test of `predictor`, on questions of the test split."""
    setting = read_setting(examples)
    columns = {name: values[:NUM_ROWS] for name, values in read_inputs(examples, "test").items()}
    return [
        _check_order(predictor, columns),
        _check_names(setting, predictor, columns),
        _check_one_more_vote(setting, predictor, columns),
        _check_unanimity(setting, predictor),
        _check_nothing(predictor),
    ]


def _check_order(predictor: Predictor, columns: dict[str, list[Any]]) -> Case:
    """The same agents and answers in another order."""
    random = np.random.default_rng(0)
    orders = [random.permutation(len(agents)) for agents in columns["agents"]]
    shuffled = dict(columns)
    for name in set(columns) - {"budget"}:
        shuffled[name] = [
            [values[place] for place in order]
            for values, order in zip(columns[name], orders, strict=True)
        ]
    before, after = predictor.predict(columns), predictor.predict(shuffled)
    same = [
        before["ask"][row] == after["ask"][row]
        and before["answer"][row] == after["answer"][row]
        and abs(before["confidence"][row] - after["confidence"][row]) <= SAME
        for row in range(len(orders))
    ]
    return _count("order of the answers", "invariance", same)


def _check_names(
    setting: AnswerSetting, predictor: Predictor, columns: dict[str, list[Any]]
) -> Case:
    """Every answer is written in another way; equal ones stay equal."""
    normalise = find_normaliser(setting.normalise)
    names: list[dict[str, str]] = []
    renamed = []
    for given in columns["answers"]:
        keys = dict.fromkeys(normalise(text) for text in given if normalise(text))
        names.append({key: str(70001 + 37 * number) for number, key in enumerate(keys)})
        renamed.append([names[-1].get(normalise(text), "") for text in given])
    before = predictor.predict(columns)
    after = predictor.predict(columns | {"answers": renamed})
    same = [
        before["ask"][row] == after["ask"][row]
        and names[row].get(normalise(before["answer"][row]), "") == after["answer"][row]
        and abs(before["confidence"][row] - after["confidence"][row]) <= SAME
        for row in range(len(names))
    ]
    return _count("other names of the answers", "invariance", same)


def _check_one_more_vote(
    setting: AnswerSetting, predictor: Predictor, columns: dict[str, list[Any]]
) -> Case:
    """An agent that was not asked joins the answer: the confidence in it does not fall.

    It states what it states in the mean; to be less sure than usual is evidence against.
    """
    before = predictor.predict(columns)
    stated = dict(zip(setting.agents, setting.stated, strict=True))
    rows = [
        row
        for row, agents in enumerate(columns["agents"])
        if before["answer"][row] and len(agents) < len(setting.agents)
    ]
    joined = {name: [values[row] for row in rows] for name, values in columns.items()}
    for number, row in enumerate(rows):
        asked = columns["agents"][row]
        newcomer = next(name for name in setting.agents if name not in asked)
        joined["agents"][number] = [*asked, newcomer]
        joined["answers"][number] = [*columns["answers"][row], before["answer"][row]]
        if "confidences" in joined:
            joined["confidences"][number] = [*columns["confidences"][row], stated[newcomer]]
    if not rows:
        return Case("one more vote", "direction", 0, 0, ())
    after = predictor.predict(joined)
    normalise = find_normaliser(setting.normalise)
    passed = []
    for number, row in enumerate(rows):
        shares = {normalise(vote["answer"]): vote["share"] for vote in after["votes"][number]}
        share = shares.get(normalise(before["answer"][row]), 0.0)
        passed.append(share >= before["confidence"][row] - SAME)
    return replace(_count("one more vote", "direction", passed), is_sample=True)


def _check_unanimity(setting: AnswerSetting, predictor: Predictor) -> Case:
    """What any set of agents says with one voice is the answer."""
    sets = [setting.agents[:size] for size in range(1, len(setting.agents) + 1)]
    sets += [setting.agents[size:] for size in range(1, len(setting.agents))]
    answers = predictor.predict(
        {
            "agents": sets,
            "answers": [[UNANIMOUS] * len(agents) for agents in sets],
            "budget": [0.0] * len(sets),
        }
    )["answer"]
    return _count("one voice", "minimum", [answer == UNANIMOUS for answer in answers])


def _check_nothing(predictor: Predictor) -> Case:
    """Nothing asked and nothing to spend: an empty answer without confidence, and no error."""
    answers = predictor.predict({"agents": [[]], "answers": [[]], "budget": [0.0]})
    is_empty = not answers["ask"][0] and not answers["answer"][0] and answers["confidence"][0] == 0
    return _count("nothing known", "minimum", [is_empty])


def _count(name: str, kind: Any, passed: Sequence[bool]) -> Case:
    failures = tuple(f"row {row}" for row, is_right in enumerate(passed) if not is_right)
    return Case(name, kind, len(passed) - len(failures), len(passed), failures[:MAX_FAILURES])
