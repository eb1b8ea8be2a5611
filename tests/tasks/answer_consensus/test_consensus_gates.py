"""What the gates say of claims about several agents."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.questions import Facts, ask_gate
from tests.support.small_answers import small_params
from tests.support.task_examples import write_examples

from plumbline.contract.records import Bound
from plumbline.contract.task import SPLITS
from plumbline.evidence import gates
from plumbline.tables.manifest_file import Manifest
from tasks.answer_consensus.data.storage import (
    read_answers,
)
from tasks.answer_consensus.expectations import build_checks, build_table
from tasks.answer_consensus.predictor import find_normaliser
from tasks.answer_consensus.scoring import compute_bound
from tasks.answer_consensus.task import TASK


def ask(name: str, **facts: Any) -> gates.GateResult:
    """Run one gate on these facts."""
    return ask_gate(name, Facts(TASK.metric, **{"limits": small_params().evaluation} | facts))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(small_params(), tmp_path_factory.mktemp("gates"))


def test_one_invented_answer_is_refused_and_what_some_agent_said_is_not(examples: Path) -> None:
    bound = compute_bound(small_params(), examples, "test")
    assert isinstance(bound.limit, np.ndarray)
    possible = bound.limit.copy()
    assert ask("bounds", winner=possible, bound=bound).status == "pass"
    impossible = np.flatnonzero(possible == 0)
    assert len(impossible) > 0
    possible[impossible[0]] = 1.0
    assert ask("bounds", winner=possible, bound=bound).status == "fail"
    plain = Bound(float(bound.limit.mean()), "the mean of the same limits")
    assert ask("bounds", winner=possible, bound=plain).status == "pass"


def test_what_the_cap_cannot_pay_for_is_not_possible(tmp_path: Path) -> None:
    capped = small_params(max_cost=0.0015)
    examples = write_examples(capped, tmp_path)
    answers = read_answers(examples, "test")
    normalise = find_normaliser("number")
    small = [
        any(normalise(answers.answers[row, place]) == answers.golds[row] for place in (4, 5))
        for row in range(len(answers.ids))
    ]
    limit = compute_bound(capped, examples, "test").limit
    assert np.array_equal(limit, np.array(small, float))


def test_an_agent_that_is_no_better_than_a_guess_is_warned_of(examples: Path) -> None:
    params = small_params()
    manifest = Manifest(examples.parent / "manifest.parquet")
    assert set(manifest.read()["split"]) == set(SPLITS)
    table = build_table(params, examples, manifest, {})
    assert table["poor_agents"].isna().all()
    assert table["missing.large"].sum() == 0
    severities = {check.name: check.severity for check in build_checks(params, table)}
    assert severities["poor_agents"] == "warning"
    assert severities["missing_small"] == "blocking"
