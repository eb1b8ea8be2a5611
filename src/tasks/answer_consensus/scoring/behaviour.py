"""Does the winner know the obvious?

Order and text mean nothing, one more vote for an answer makes it no less sure, what all say is
said, and of nothing nothing is known.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Case
from plumbline.contract.task import Predictor
from tasks.answer_consensus.data.inputs import read_inputs
from tasks.answer_consensus.data.storage import AnswerSetting, read_setting
from tasks.answer_consensus.params import ConsensusParams
from tasks.answer_consensus.predictor import find_normaliser

NUM_ROWS = 200
SAME = 1e-6
UNANIMOUS = "1234"  # a number and a text: the same under every way to normalise
Columns = dict[str, list[Any]]


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


def _check_order(predictor: Predictor, columns: Columns) -> Case:
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
    failures = _list_changed(before, after, before["answer"])
    return Case.build("order of the answers", "invariance", failures, len(orders))


def _check_names(setting: AnswerSetting, predictor: Predictor, columns: Columns) -> Case:
    """Every answer is written in another way; equal ones stay equal."""
    normalise = find_normaliser(setting.normalise)
    before = predictor.predict(columns)
    renamed, expected = [], []
    for given, answer in zip(columns["answers"], before["answer"], strict=True):
        keys = dict.fromkeys(normalise(text) for text in given if normalise(text))
        names = {key: str(70001 + 37 * number) for number, key in enumerate(keys)}
        renamed.append([names.get(normalise(text), "") for text in given])
        expected.append(names.get(normalise(answer), ""))
    after = predictor.predict(columns | {"answers": renamed})
    failures = _list_changed(before, after, expected)
    return Case.build("other names of the answers", "invariance", failures, len(renamed))


def _check_one_more_vote(setting: AnswerSetting, predictor: Predictor, columns: Columns) -> Case:
    """An agent that was not asked joins the answer: the confidence in it does not fall."""
    before = predictor.predict(columns)
    joined: Columns = {name: [] for name in columns}
    rows = []
    for row, asked in enumerate(columns["agents"]):
        left = [place for place, name in enumerate(setting.agents) if name not in asked]
        if not before["answer"][row] or not left:
            continue
        rows.append(row)
        added = {
            "agents": setting.agents[left[0]],
            "answers": before["answer"][row],
        }
        for name, values in columns.items():
            joined[name].append([*values[row], added[name]] if name in added else values[row])
    after = predictor.predict(joined)["votes"] if rows else []
    normalise = find_normaliser(setting.normalise)
    failures = []
    for row, votes in zip(rows, after, strict=True):
        shares = {normalise(vote["answer"]): vote["share"] for vote in votes}
        share = shares.get(normalise(before["answer"][row]), 0.0)
        if share < before["confidence"][row] - SAME:
            failures.append(f"row {row}: {before['confidence'][row]:.4f} falls to {share:.4f}")
    return Case.build("one more vote", "direction", failures, len(rows), is_sample=bool(rows))


def _check_unanimity(setting: AnswerSetting, predictor: Predictor) -> Case:
    """What any set of agents says with one voice is the answer."""
    sets = [setting.agents[:size] for size in range(1, len(setting.agents) + 1)]
    sets += [setting.agents[size:] for size in range(1, len(setting.agents))]
    given = [[UNANIMOUS] * len(agents) for agents in sets]
    columns: Columns = {"agents": sets, "answers": given, "budget": [0.0] * len(sets)}
    answers = predictor.predict(columns)["answer"]
    failures = [f"row {row}" for row, answer in enumerate(answers) if answer != UNANIMOUS]
    return Case.build("one voice", "minimum", failures, len(sets))


def _check_nothing(predictor: Predictor) -> Case:
    """Nothing asked and nothing to spend: an empty answer without confidence, and no error."""
    answers = predictor.predict({"agents": [[]], "answers": [[]], "budget": [0.0]})
    is_empty = not answers["ask"][0] and not answers["answer"][0] and answers["confidence"][0] == 0
    return Case.build("nothing known", "minimum", [] if is_empty else ["row 0"], 1)


def _list_changed(before: Columns, after: Columns, expected: Sequence[str]) -> list[str]:
    """Name the rows that ask another agent, answer otherwise, or are more or less sure."""
    failures = []
    for row, answer in enumerate(expected):
        distance = abs(before["confidence"][row] - after["confidence"][row])
        is_same = before["ask"][row] == after["ask"][row] and after["answer"][row] == answer
        if not is_same or distance > SAME:
            failures.append(f"row {row}")
    return failures
