"""Whether a predictor's doubt is what a Bayesian's would be, measured on some rows of a split.

Shapes: R rows, t symbols each out of V.
"""

from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.task import Predictor
from tasks.sequence_bayes.data.exact import compute_epistemic, compute_predictive
from tasks.sequence_bayes.data.prior import SequencePrior
from tasks.sequence_bayes.predictor import Rollouts, estimate_epistemic

if TYPE_CHECKING:
    import pandas as pd

NUM_ORDERS = 2
EPISTEMIC_ROWS, ROLLOUTS, CONTINUATION = 64, 6, 24
HISTORIES = (5, 20)  # symbols after which the epistemic part is compared
MARTINGALE_ROWS = 64


def ask_in_orders(histories: np.ndarray, predictor: Predictor) -> np.ndarray:
    """Return the answers to NUM_ORDERS random orders of each history [R, NUM_ORDERS, V]."""
    random = np.random.default_rng(0)
    orders = random.permuted(np.repeat(histories, NUM_ORDERS, axis=0), axis=1)
    answers = predictor.predict({"sequence": orders.tolist()})["probabilities"]
    return np.array(answers, dtype=float).reshape(len(histories), NUM_ORDERS, -1)


def compare_epistemic(
    prior: SequencePrior, sequences: np.ndarray, predictor: Predictor
) -> "pd.DataFrame":
    """Return the predictor's epistemic part of the doubt beside the exact one, row by row.

    The table is empty for a predictor that estimates nothing.
    """
    import pandas as pd

    columns: dict[str, list[float]] = {"symbols": [], "exact": [], "own": []}
    for length in choose_lengths(prior):
        histories = sequences[:EPISTEMIC_ROWS, :length]
        answers = predictor.predict(
            {"sequence": histories.tolist()}, rollouts=ROLLOUTS, continuation=CONTINUATION
        )
        own = [value[0] for value in answers.get("epistemic", []) if value]
        if len(own) == len(histories):
            columns["symbols"] += [length] * len(own)
            columns["exact"] += compute_epistemic(prior, histories).tolist()
            columns["own"] += own
    return pd.DataFrame(columns)


def compute_reference(prior: SequencePrior, sequences: np.ndarray) -> np.ndarray:
    """Return what the exact model estimates by the same rollouts, row by row as compare_epistemic.

    It is as good as an estimate from so few continuations can be under this prior.
    """
    plan = Rollouts(ROLLOUTS, CONTINUATION)
    estimates = []
    for length in choose_lengths(prior):
        histories = sequences[:EPISTEMIC_ROWS, :length]
        estimates.append(estimate_epistemic(ExactModel(prior), histories, plan, prior.max_history))
    return np.concatenate(estimates)


class ExactModel:
    """The exact answer, asked as a model."""

    def __init__(self, prior: SequencePrior) -> None:
        self._prior = prior

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return probabilities after 0, 1, ... t symbols [R, t + 1, V] for rows [R, t]."""
        return compute_predictive(self._prior, rows)


def choose_lengths(prior: SequencePrior) -> tuple[int, int]:
    """Return after how many symbols the epistemic part is compared: after few, and after more."""
    few, more = HISTORIES
    if prior.max_history >= more:
        return few, more
    return max(1, prior.max_history // 4), prior.max_history


def compute_rank_correlation(own: "pd.Series", exact: "pd.Series") -> float:
    """Return Spearman's correlation; 0 where one of both never changes."""
    from scipy.stats import spearmanr

    if own.nunique() < 2 or exact.nunique() < 2:
        return 0.0
    return float(spearmanr(own, exact)[0])


def measure_martingale(
    prior: SequencePrior, sequences: np.ndarray, predictor: Predictor
) -> dict[str, float]:
    """How far an answer is from the mean of the answers after one more symbol.

    A Bayesian's is equal to it (the predictive is a martingale). The distance is total variation.
    Source: Fong, Holmes and Walker 2023, arXiv:2103.15671, section 2.
    """
    histories = sequences[:MARTINGALE_ROWS, : prior.max_history - 1]
    now = np.array(predictor.predict({"sequence": histories.tolist()})["probabilities"])
    expected = np.zeros(now.shape)
    for symbol in range(prior.num_symbols):
        after = np.pad(histories, ((0, 0), (0, 1)), constant_values=symbol)
        answers = np.array(predictor.predict({"sequence": after.tolist()})["probabilities"])
        expected += now[:, symbol, None] * answers
    return {"martingale_violation": float(np.abs(now - expected).sum(axis=1).mean() / 2)}
