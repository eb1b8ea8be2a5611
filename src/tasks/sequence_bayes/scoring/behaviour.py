"""Does the winner know the obvious about sequences and doubt?

Shapes: R rows, t symbols each out of V.
"""

from pathlib import Path

import numpy as np

from plumbline.contract.records import Case
from plumbline.contract.task import Predictor
from tasks.sequence_bayes.data.exact import compute_predictive
from tasks.sequence_bayes.data.prior import SequencePrior
from tasks.sequence_bayes.data.storage import read_prior, read_sequences
from tasks.sequence_bayes.params import SequenceParams
from tasks.sequence_bayes.scoring.uncertainty import (
    ask_in_orders,
    compare_epistemic,
    compute_rank_correlation,
    compute_reference,
)

NUM_ROWS = 64
MAX_DISTANCE = 0.05  # total variation of two answers that should be equal
MAX_DROP = 0.005  # of the probability of a symbol that came once more
NUM_EQUAL = 40  # equal symbols in a row
MAX_SHORTFALL = 0.05  # of their probability, from the exact one
MIN_RANK_CORRELATION = 0.4  # of the exact model's estimate; else the order is not asked
MIN_CORRELATION_SHARE = 0.6  # of that, which a model must reach


def check_behaviour(params: SequenceParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Run every behavioural test that the prior calls for, on histories of the test split."""
    prior = read_prior(examples)
    sequences = read_sequences(examples, "test")
    histories = sequences[:NUM_ROWS, :-1]
    cases = [_check_equal_symbols(prior, predictor)]
    cases += _check_epistemic(prior, sequences, predictor)
    cases.append(_check_orders(histories, predictor))
    cases.append(_check_one_more(prior, histories, predictor))
    return cases


def _check_orders(histories: np.ndarray, predictor: Predictor) -> Case:
    """The order of independent symbols says nothing."""
    answers = ask_in_orders(histories, predictor)
    failures = _list_failures(_compare(answers[:, 0], answers[:, 1]), MAX_DISTANCE)
    return Case.build("order of the history", "invariance", failures, len(answers), True)


def _check_one_more(prior: SequencePrior, histories: np.ndarray, predictor: Predictor) -> Case:
    """A symbol in place of another one does not become less probable."""
    random = np.random.default_rng(0)
    rows = np.arange(len(histories))
    places = random.integers(0, histories.shape[1], len(histories))
    others = random.integers(1, prior.num_symbols, len(histories))
    symbols = (histories[rows, places] + others) % prior.num_symbols
    changed = histories.copy()
    changed[rows, places] = symbols
    drops = _ask(predictor, histories)[rows, symbols] - _ask(predictor, changed)[rows, symbols]
    failures = _list_failures(drops, MAX_DROP)
    return Case.build("one more of a symbol", "direction", failures, len(drops), True)


def _check_equal_symbols(prior: SequencePrior, predictor: Predictor) -> Case:
    """After many equal symbols, the same is about as probable as the exact answer says."""
    length = min(NUM_EQUAL, prior.max_history)
    symbols = np.arange(prior.num_symbols)
    histories = np.repeat(symbols[:, None], length, axis=1).astype(np.uint8)
    exact = compute_predictive(prior, histories)[symbols, -1, symbols]
    shortfalls = exact - _ask(predictor, histories)[symbols, symbols]
    failures = _list_failures(shortfalls, MAX_SHORTFALL)
    return Case.build(f"{length} equal symbols", "minimum", failures, len(shortfalls))


def _check_epistemic(
    prior: SequencePrior, sequences: np.ndarray, predictor: Predictor
) -> list[Case]:
    """The epistemic part of the doubt orders rows as the exact one does, and falls with length.

    It is estimated from a few continuations, so each is asked only where the exact model passes by
    the same estimate. Rows of all lengths are ordered together: among histories of one length the
    exact values of some priors, such as that of coins, hardly differ.
    """
    table = compare_epistemic(prior, sequences, predictor)
    if table.empty:
        failures = ["the model estimates none"]
        return [Case.build("epistemic uncertainty", "minimum", failures, 1)]
    table = table.assign(reference=compute_reference(prior, sequences))
    cases = []
    possible = compute_rank_correlation(table["reference"], table["exact"])
    if possible >= MIN_RANK_CORRELATION:
        correlation = compute_rank_correlation(table["own"], table["exact"])
        required = MIN_CORRELATION_SHARE * possible
        failure = f"rank correlation {correlation:.2f} with the exact one; {required:.2f} is needed"
        failures = [] if correlation >= required else [failure]
        cases.append(Case.build("epistemic uncertainty", "minimum", failures, 1))
    means = table.groupby("symbols")[["own", "reference"]].mean()
    few, more = means.iloc[0], means.iloc[-1]
    if few["reference"] > more["reference"]:
        failure = f"from {few['own']:.4f} to {more['own']:.4f} nats with a longer history"
        failures = [] if few["own"] > more["own"] else [failure]
        cases.append(Case.build("epistemic uncertainty falls", "direction", failures, 1))
    return cases


def _ask(predictor: Predictor, histories: np.ndarray) -> np.ndarray:
    """Return the answer to each history [R, V]."""
    answers = predictor.predict({"sequence": histories.tolist()})["probabilities"]
    return np.array(answers, dtype=float)


def _compare(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the total variation between answers [R, V]."""
    distances: np.ndarray = np.abs(first - second).sum(axis=1) / 2
    return distances


def _list_failures(differences: np.ndarray, limit: float) -> list[str]:
    failed = np.flatnonzero(~(differences <= limit))  # NaN fails
    return [f"row {row}: {differences[row]:.4f}" for row in failed]
