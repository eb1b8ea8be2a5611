"""The best possible vote and policy of generated records agree with what is drawn."""

import numpy as np
import pytest
from tests.support.small_answers import small_params, write_examples

from tasks.answer_consensus.data import find_normaliser, read_answers, read_setting
from tasks.answer_consensus.models.tallies import count_answers
from tasks.answer_consensus.scoring.exact import ExactPolicy, Generator

SMALL = Generator([1.0, 0.2, 0.2], ["a", "b", "b"], wrong_answers=3, copy_share=0.7)
COSTS = [5.0, 1.0, 1.0]


def draw_patterns(generator: Generator, num_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers [rows, A], where 0 is right, drawn as data/generated.py says; and patterns."""
    random = np.random.default_rng(1)
    difficulty = random.normal(size=num_rows)
    answers = np.zeros((num_rows, len(generator.abilities)), int)
    leaning = {m: random.integers(1, generator.wrong_answers + 1, num_rows) for m in "ab"}
    for place, ability in enumerate(generator.abilities):
        right = random.normal(size=num_rows) < ability - difficulty
        own = random.integers(1, generator.wrong_answers + 1, num_rows)
        copies = random.random(num_rows) < generator.copy_share
        wrong = np.where(copies, leaning[generator.models[place]], own)
        answers[:, place] = np.where(right, 0, wrong)
    patterns = np.zeros_like(answers)
    for row, given in enumerate(answers):
        numbers: dict[int, int] = {}
        patterns[row] = [numbers.setdefault(int(one), len(numbers) + 1) for one in given]
    return answers, patterns


def test_masses_are_the_frequencies_of_what_is_drawn() -> None:
    policy = ExactPolicy(SMALL, COSTS)
    answers, patterns = draw_patterns(SMALL, 60_000)
    assert policy.sum_masses((0, 0, 0)).sum() == pytest.approx(1.0)
    for state in [(1, 1, 1), (1, 2, 2), (1, 2, 3), (1, 1, 2), (1, 2, 1)]:
        same = (patterns == state).all(axis=1)
        masses = policy.sum_masses(state)
        assert masses.sum() == pytest.approx(same.mean(), abs=0.006)
        for group in range(1, max(state) + 1):
            right = same & (answers[:, state.index(group)] == 0)
            assert masses[group - 1] == pytest.approx(right.mean(), abs=0.006)


def test_partial_states_are_sums_over_the_agents_that_were_not_asked() -> None:
    policy = ExactPolicy(SMALL, COSTS)
    answers, _ = draw_patterns(SMALL, 60_000)
    same = answers[:, 1] == answers[:, 2]
    masses = policy.sum_masses((0, 1, 1))
    assert masses.sum() == pytest.approx(same.mean(), abs=0.006)
    assert masses[0] == pytest.approx((same & (answers[:, 1] == 0)).mean(), abs=0.006)


def test_more_money_is_never_worse_and_all_of_it_is_the_best_vote() -> None:
    policy = ExactPolicy(SMALL, COSTS)
    bounds = [policy.bound_accuracy(7.0, cost) for cost in (0.5, 1.0, 2.0, 4.0, 7.0)]
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(policy.compute_vote())
    assert policy.compute_policy(7.0).accuracy == pytest.approx(policy.compute_vote())
    alone = policy.compute_policy(1.0)
    assert alone.accuracy == pytest.approx(policy.sum_masses((0, 1, 0))[0])
    assert alone.cost == pytest.approx(1.0)


def test_generated_records_have_the_accuracies_of_their_generator(tmp_path) -> None:
    params = small_params()
    examples = write_examples(params, tmp_path)
    setting = read_setting(examples)
    tallies = count_answers(setting, read_answers(examples, "test"))
    policy = ExactPolicy(Generator(**setting.generator, models=setting.models), setting.costs)
    for place in range(len(setting.agents)):
        state = tuple(int(place == other) for other in range(len(setting.agents)))
        assert tallies.accuracy[place] == pytest.approx(policy.sum_masses(state)[0], abs=0.08)
    assert find_normaliser("number")(read_answers(examples, "test").golds[0]).isdigit()
