"""The candidates: what each learns, and that it keeps to its money."""

from pathlib import Path

import numpy as np
import pytest
from tests.support.small_answers import small_params
from tests.support.task_examples import write_examples

from plumbline.contract.records import Candidate
from tasks.answer_consensus.data import shuffle_labels
from tasks.answer_consensus.data.play import play
from tasks.answer_consensus.data.storage import read_answers, read_setting
from tasks.answer_consensus.models import build_learner
from tasks.answer_consensus.predictor import Predictor, find_normaliser, load
from tasks.answer_consensus.scoring import build_baselines, draw_figures, score


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(small_params(), tmp_path_factory.mktemp("answers"))


def measure(predictor: Predictor, examples: Path) -> tuple[float, float]:
    setting, answers = read_setting(examples), read_answers(examples, "test")
    normalise = find_normaliser(setting.normalise)
    course = play(setting, answers, predictor)
    pairs = zip(course.answers, answers.golds, strict=True)
    hits = [normalise(answer) == normalise(gold) for answer, gold in pairs]
    return float(np.mean(hits)), float(course.sum_costs(setting.compute_costs(answers)).mean())


def test_the_logit_beats_every_fixed_set_for_the_same_money(examples: Path, tmp_path: Path) -> None:
    params = small_params()
    learner = build_learner(params, "logit", examples)
    assert learner.solve is not None
    learner.solve()
    learner.save(tmp_path)
    accuracy, cost = measure(load(tmp_path), examples)
    assert cost <= 1.1 * params.data.mean_cost
    for baseline in build_baselines(params, examples).values():
        assert accuracy > measure(baseline, examples)[0]
    scores = score(examples, "test", load(tmp_path))
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
    params = small_params()
    target = tmp_path / "shuffled"
    target.mkdir()
    shuffle_labels(examples, target, seed=1, max_rows=300)
    learner = build_learner(params, "logit", target)
    assert learner.solve is not None
    learner.solve()
    learner.save(tmp_path)
    assert measure(load(tmp_path), examples)[1] <= 1.05 * params.data.mean_cost
