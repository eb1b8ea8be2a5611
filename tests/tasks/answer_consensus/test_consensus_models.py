"""The candidates: what each learns, that it keeps to its money, and what gates say."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.questions import Facts, ask_gate
from tests.support.small_answers import small_params
from tests.support.task_examples import write_examples

from plumbline.contract.records import Bound, Candidate
from plumbline.contract.task import SPLITS
from plumbline.evidence import gates
from plumbline.tables.manifest_file import Manifest
from tasks.answer_consensus.data import shuffle_labels
from tasks.answer_consensus.data.play import play
from tasks.answer_consensus.data.storage import read_answers, read_setting
from tasks.answer_consensus.expectations import build_checks, build_table
from tasks.answer_consensus.models import build_learner
from tasks.answer_consensus.predictor import Predictor, find_normaliser, load
from tasks.answer_consensus.scoring import build_baselines, compute_bound, draw_figures, score
from tasks.answer_consensus.task import TASK


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(small_params(), tmp_path_factory.mktemp("answers"))


def learn(examples: Path, folder: Path) -> Predictor:
    learner = build_learner(small_params(), "logit", examples)
    learner.solve()
    learner.save(folder)
    return load(folder)


def measure(predictor: Predictor, examples: Path) -> tuple[float, float]:
    setting, answers = read_setting(examples), read_answers(examples, "test")
    normalise = find_normaliser(setting.normalise)
    course = play(setting, answers, predictor)
    pairs = zip(course.answers, answers.golds, strict=True)
    hits = [normalise(answer) == normalise(gold) for answer, gold in pairs]
    return float(np.mean(hits)), float(course.sum_costs(setting.compute_costs(answers)).mean())


def test_the_logit_beats_every_fixed_set_for_the_same_money(examples: Path, tmp_path: Path) -> None:
    params, policy = small_params(), learn(examples, tmp_path)
    accuracy, cost = measure(policy, examples)
    assert cost <= 1.1 * params.data.mean_cost
    for baseline in build_baselines(params, examples).values():
        assert accuracy > measure(baseline, examples)[0]
    scores = score(examples, "test", policy)
    assert (scores.metrics["accuracy"], scores.metrics["cost"]) == pytest.approx((accuracy, cost))
    candidate = Candidate("logit", scores, scores, None, {}, 1)
    assert [figure.name for figure in draw_figures(params, [candidate])] == ["costs"]


def test_baselines_are_the_best_that_the_same_money_buys(examples: Path) -> None:
    params = small_params()
    baselines = build_baselines(params, examples)
    assert set(baselines) == {"cheapest", "best_single", "plurality", "self_consistency"}
    scores = {name: measure(baseline, examples) for name, baseline in baselines.items()}
    assert all(cost <= 1.05 * params.data.mean_cost for _, cost in scores.values())
    assert scores["cheapest"][1] == pytest.approx(0.001, rel=0.05)
    assert scores["plurality"][0] >= scores["cheapest"][0]


def test_a_policy_that_is_never_sure_asks_only_what_its_money_buys(
    examples: Path, tmp_path: Path
) -> None:
    target = tmp_path / "shuffled"
    target.mkdir()
    shuffle_labels(examples, target, seed=1, max_rows=300)
    _, cost = measure(learn(target, tmp_path), examples)
    assert cost <= 1.05 * small_params().data.mean_cost


def ask(name: str, **facts: Any) -> gates.GateResult:
    """Run one gate on these facts."""
    return ask_gate(name, Facts(TASK.metric, **{"limits": small_params().evaluation} | facts))


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
