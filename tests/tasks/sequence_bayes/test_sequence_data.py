"""Sequences on disk, leaked only beyond what chance explains; the exact answer as Bayes has it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.small_sequences import COMPONENTS, build_params, build_prior
from tests.support.task_examples import seal_changed_examples, write_examples

from plumbline.contract import layout
from plumbline.contract.errors import RejectedError
from plumbline.stages.ingest import ingest
from plumbline.stages.validate import validate
from tasks.sequence_bayes.data import exact, list_rows, shuffle_labels
from tasks.sequence_bayes.data.prior import SequencePrior, draw_sequences
from tasks.sequence_bayes.data.storage import read_sequences, read_strata, write_sequences
from tasks.sequence_bayes.expectations import find_leaks
from tasks.sequence_bayes.params import SequenceParams
from tasks.sequence_bayes.predictor import compute_entropy
from tasks.sequence_bayes.task import TASK


@pytest.mark.parametrize("kind", COMPONENTS)
def test_every_split_has_every_stratum(tmp_path: Path, kind: str) -> None:
    write_examples(build_params(kind), tmp_path)
    manifest = pd.read_parquet(tmp_path / "manifest.parquet")
    counts = manifest.groupby(["split", "label"]).size().unstack()
    assert (counts.to_numpy() > 5).all()


@pytest.fixture
def accepted(folder: Path) -> SequenceParams:
    params = build_params()
    ingest(params, TASK)
    validate(params, TASK)
    return params


def test_copied_sequences_are_rejected_and_counted(accepted: SequenceParams) -> None:
    test = read_sequences(layout.EXAMPLES, "test").copy()
    test[:20] = read_sequences(layout.EXAMPLES, "train")[:20]
    write_sequences(layout.EXAMPLES, "test", test, read_strata(layout.EXAMPLES, "test"))
    seal_changed_examples(TASK)
    leaks = {leak.split: leak for leak in find_leaks(accepted, layout.EXAMPLES)}
    assert 10 <= leaks["test"].num_leaked <= 20  # but for those that chance repeats too
    assert "also in train" in leaks["test"].examples[0]
    assert leaks["validation"].num_leaked == 0
    with pytest.raises(RejectedError, match="repeats:"):
        validate(accepted, TASK)


def test_sequences_that_chance_repeats_are_no_leak(tmp_path: Path) -> None:
    params = build_params("coins", length=8)
    examples = write_examples(params, tmp_path)
    train, test = (set(list_rows(examples, split)["digest"]) for split in ("train", "test"))
    assert train & test, "so short sequences repeat by chance"
    assert [leak.num_leaked for leak in find_leaks(params, examples)] == [0, 0]


def test_shuffled_symbols_keep_only_their_frequencies(tmp_path: Path) -> None:
    examples = write_examples(build_params(), tmp_path)
    target = tmp_path / "shuffled"
    target.mkdir()
    shuffle_labels(examples, target, 3, 200)
    before, after = read_sequences(examples, "train")[:200], read_sequences(target, "train")
    assert after.shape == before.shape
    np.testing.assert_array_equal(np.sort(after, axis=0), np.sort(before, axis=0))
    spread = (before == 0).mean(axis=1).std(), (after == 0).mean(axis=1).std()
    assert spread[1] < 0.7 * spread[0]


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
