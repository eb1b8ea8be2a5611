"""The candidates: what each learns, and that it keeps to its money."""

from dataclasses import replace
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
from tasks.answer_consensus.models.policy import build_config, choose_stop
from tasks.answer_consensus.models.tallies import count_answers
from tasks.answer_consensus.models.votes import (
    build_vote,
    fit_logit,
    measure_plurality,
)
from tasks.answer_consensus.params import LogitConfig
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


def test_candidates_and_baselines_have_the_money_of_params(examples: Path, tmp_path: Path) -> None:
    params = small_params(mean_cost=0.0030)
    assert read_setting(examples).mean_cost > 0.0030
    for baseline in build_baselines(params, examples).values():
        assert measure(baseline, examples)[1] <= 1.05 * 0.0030
    learner = build_learner(params, "logit", examples)
    assert learner.solve is not None
    learner.solve()
    learner.save(tmp_path)
    assert measure(load(tmp_path), examples)[1] <= 1.05 * 0.0030


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


def test_a_policy_keeps_away_from_its_money_by_what_chance_may_add(examples: Path) -> None:
    setting, validation = read_setting(examples), read_answers(examples, "validation")
    tallies = count_answers(setting, read_answers(examples, "train"))
    config = small_params().candidates["logit"]
    assert isinstance(config, LogitConfig)
    scorer = fit_logit(config, tallies, 7)
    cheap_first = [4, 5, 2, 3, 0, 1]
    predictor = Predictor(build_config(setting, tallies, scorer, cheap_first))
    paid = setting.compute_costs(validation)
    spent = play(setting, validation, predictor, stop_at=0.7).sum_costs(paid)
    error = spent.std(ddof=1) / np.sqrt(len(spent))
    tight = replace(setting, mean_cost=float(spent.mean() + 1.3 * error))
    ample = replace(setting, mean_cost=float(spent.mean() + 2.0 * error))
    assert choose_stop(tight, validation, predictor, 0.95) != 0.7
    assert choose_stop(tight, validation, predictor, 0.85) == 0.7
    assert choose_stop(ample, validation, predictor, 0.95) == 0.7


def test_a_vote_is_a_plurality_and_says_how_sure_it_may_be(examples: Path) -> None:
    setting = read_setting(examples)
    tallies = count_answers(setting, read_answers(examples, "train"))
    config = build_vote(setting, tallies, "plurality")
    predictor = Predictor(config)
    test = count_answers(setting, read_answers(examples, "test"))
    accuracy, _ = measure(predictor, examples)
    assert accuracy == pytest.approx(measure_plurality(test, config["plan"]), abs=0.01)
    course = play(setting, read_answers(examples, "test"), predictor)
    assert course.confidences.mean() == pytest.approx(accuracy, abs=0.1)
