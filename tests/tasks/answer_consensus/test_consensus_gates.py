"""What the gates say of claims about several agents."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.questions import Facts, ask_gate
from tests.support.small_answers import small_params, write_examples

from plumbline.contract.records import Bound
from plumbline.contract.task import SPLITS
from plumbline.evidence import gates
from plumbline.tables.manifest_file import Manifest
from tasks.answer_consensus.data import find_normaliser, read_answers, read_setting
from tasks.answer_consensus.data.storage import write_answers, write_setting
from tasks.answer_consensus.expectations import build_checks, build_table
from tasks.answer_consensus.scoring import check_behaviour, compute_bound
from tasks.answer_consensus.task import TASK


def ask(name: str, **facts: Any) -> gates.GateResult:
    """Run one gate on these facts."""
    return ask_gate(name, Facts(TASK.metric, **{"limits": small_params().evaluation} | facts))


def score(num_right: int, only_other: int = 0) -> np.ndarray:
    """198 questions: right from number `only_other` on."""
    values = np.zeros(198)
    values[only_other : only_other + num_right] = 1.0
    return values


@pytest.mark.parametrize("only_other", [0, 5, 10])
def test_three_questions_more_of_198_show_nothing(only_other: int) -> None:
    single = score(170)
    claim = score(173, only_other)
    assert claim.mean() == pytest.approx(0.874, abs=5e-4)
    assert single.mean() == pytest.approx(0.859, abs=5e-4)
    baselines = ask("baselines", winner=claim, baselines={"best_single": single})
    assert baselines.status == "fail"
    assert "+0.0152 over best_single" in baselines.reason
    champion = ask("champion", winner=claim, champion=single)
    assert champion.status == "fail"
    limits = small_params().evaluation.model_copy(update={"max_detectable_difference": 0.03})
    power = ask("power", winner=claim, champion=single, limits=limits)
    assert power.status == "fail"
    assert "It needs more rows" in power.reason


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


@pytest.mark.parametrize(
    ("answers", "status"), [(["a", "b", "a"], "pass"), (["a", "a", "a"], "fail")]
)
def test_one_topic_is_no_fault_and_one_right_answer_is(answers: list[str], status: str) -> None:
    """File names of one length are one stratum; a topic may be rare."""
    import pandas as pd

    rows = [{"split": "train", "label": "rare", "right_answer": "a"}]
    rows += [{"split": "test", "label": "short", "right_answer": answer} for answer in answers]
    coverage = ask("coverage", manifest=pd.DataFrame(rows))
    assert coverage.status == status


class ConfidentVote:
    """Is as sure as the mean of what the voters state, and of nothing where nobody voted."""

    forms = ("exact",)

    def predict(self, columns: dict[str, Any], **_: Any) -> dict[str, list[Any]]:
        answers: dict[str, list[Any]] = {"ask": [], "answer": [], "confidence": [], "votes": []}
        stated = columns.get("confidences", [[0.6] * len(given) for given in columns["answers"]])
        for given, sure in zip(columns["answers"], stated, strict=True):
            best = given[0] if given else ""
            votes = [one for answer, one in zip(given, sure, strict=True) if answer == best]
            share = float(np.mean(votes)) if votes else 0.0
            answers["ask"].append("")
            answers["answer"].append(best)
            answers["confidence"].append(share)
            answers["votes"].append([{"answer": best, "share": share}] if given else [])
        return answers


def test_one_more_vote_states_what_its_agent_states_in_the_mean(tmp_path: Path) -> None:
    params = small_params()
    examples = write_examples(params, tmp_path)
    for split in SPLITS:
        answers = read_answers(examples, split)
        answers.confidences[:] = 0.6
        write_answers(examples, split, answers)
    write_setting(examples, replace(read_setting(examples), stated=[0.6] * 6))
    cases = check_behaviour(params, examples, ConfidentVote())
    case = next(case for case in cases if case.name == "one more vote")
    assert case.num_cases > 50
    assert case.num_passed == case.num_cases


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
