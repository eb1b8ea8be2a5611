"""The oracle: the exact Bayesian answer has the properties that Bayes' rule gives it."""

import numpy as np
import pytest
from tests.support.small_sequences import COMPONENTS, build_prior

from tasks.sequence_bayes.data import exact
from tasks.sequence_bayes.data.prior import SequencePrior, draw_sequences
from tasks.sequence_bayes.predictor import compute_entropy

COIN = SequencePrior(12, ("all",), (1.0,), ((1.0, 1.0),))


def draw(prior: SequencePrior, num_rows: int) -> np.ndarray:
    return draw_sequences(prior, num_rows, np.random.default_rng(0))[0]


def test_on_coins_it_is_the_rule_of_laplace() -> None:
    sequences = draw(COIN, 50)
    predictive = exact.compute_predictive(COIN, sequences)
    for place in (0, 1, 7, 12):
        ones = sequences[:, :place].sum(axis=1)
        np.testing.assert_allclose(predictive[:, place, 1], (ones + 1) / (place + 2))


@pytest.mark.parametrize("kind", COMPONENTS)
def test_the_next_answer_is_this_answer_in_the_mean(kind: str) -> None:
    prior = build_prior(kind)
    sequences = draw(prior, 30)[:, :10]
    now = exact.compute_predictive(prior, sequences)[:, -1]
    mean = np.zeros_like(now)
    for symbol in range(prior.num_symbols):
        longer = np.pad(sequences, ((0, 0), (0, 1)), constant_values=symbol)
        mean += now[:, symbol, None] * exact.compute_predictive(prior, longer)[:, -1]
    np.testing.assert_allclose(mean, now, atol=1e-12)


@pytest.mark.parametrize("kind", COMPONENTS)
def test_the_generator_draws_what_the_oracle_expects(kind: str) -> None:
    prior = build_prior(kind)
    sequences = draw(prior, 20_000)
    predictive = exact.compute_predictive(prior, sequences)[:, :-1]
    realised = -np.log(exact.pick_realised(predictive, sequences))
    expected = compute_entropy(predictive)
    differences = (realised - expected).mean(axis=1)
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    assert abs(differences.mean()) < 4 * error


def test_the_epistemic_part_of_a_coin_is_what_integration_gives() -> None:
    from scipy.integrate import quad
    from scipy.stats import beta

    sequences = np.array([[1, 1, 0, 1]], dtype=np.uint8)
    posterior = beta(4, 2)

    def compute_expected(p: float) -> float:
        entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
        return float(entropy * posterior.pdf(p))

    mean = posterior.mean()
    predictive_entropy = -mean * np.log(mean) - (1 - mean) * np.log(1 - mean)
    expected = predictive_entropy - quad(compute_expected, 0, 1)[0]
    assert exact.compute_epistemic(COIN, sequences)[0] == pytest.approx(expected, abs=1e-8)
