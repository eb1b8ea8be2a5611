"""Scores of a predictor on one split, row by row, against the exact Bayesian answer.

Shapes: N sequences of T symbols out of V. All values are in nats, but for `bits`.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from tasks.sequence_bayes.data.exact import compute_predictive, pick_realised
from tasks.sequence_bayes.data.prior import SequencePrior
from tasks.sequence_bayes.data.storage import list_inputs, name_rows, read_prior, read_sequences
from tasks.sequence_bayes.scoring.uncertainty import (
    compare_epistemic,
    compute_rank_correlation,
    measure_martingale,
)

LEAST = 1e-12  # a smaller probability of what came counts as this
SUM_TOLERANCE = 1e-6
SHOWN_POSITIONS = (1, 5, 20)  # KL after so many symbols; and after all


def score_answer(answer: Mapping[str, Any], truth: str) -> float:
    """The probability that an answer gave to `truth`, the symbol that came next."""
    chances = dict(enumerate(answer["probabilities"]))  # a list has -1 too
    return float(chances[int(truth)])


def score(examples: Path, split: str, predictor: Predictor) -> Scores:
    """Score every sequence of `split`; ValueError if an answer is not a probability distribution.

    The metric `regret` of a sequence is the mean over its positions of ln p_exact - ln p_model at
    the symbol that came: what not knowing the prior costs. Its expectation is the mean of the
    Kullback-Leibler divergence `kl`, which needs no luck.
    """
    import pandas as pd

    prior, sequences = read_prior(examples), read_sequences(examples, split)
    answers = answer_positions(predictor, sequences, prior)
    exact = compute_predictive(prior, sequences)[:, :-1]
    realised = np.maximum(pick_realised(answers, sequences), LEAST)
    losses = -np.log(realised)
    regret = losses + np.log(pick_realised(exact, sequences))
    divergence = (exact * (np.log(exact) - np.log(np.maximum(answers, LEAST)))).sum(axis=2)
    last = answers[:, -1]
    predicted = last.argmax(axis=1)
    per_example = {
        "id": np.array(name_rows(split, len(sequences)), dtype=object),
        "regret": regret.mean(axis=1),
        "kl": divergence.mean(axis=1),
        "nll": losses.mean(axis=1),
        "predicted": predicted,
        "confidence": last.max(axis=1),
        "correct": (predicted == sequences[:, -1]).astype(float),
    }
    metrics = _summarise(per_example, divergence)
    epistemic = compare_epistemic(prior, sequences, predictor)
    lengths = [rows for _, rows in epistemic.groupby("symbols")]
    if lengths:
        correlations = [compute_rank_correlation(rows["own"], rows["exact"]) for rows in lengths]
        metrics["epistemic_r"] = float(np.mean(correlations))
    metrics |= measure_martingale(prior, sequences, predictor)
    by_position = {"symbols": np.arange(prior.length), "kl": divergence.mean(axis=0)}
    tables = {"by_position": pd.DataFrame(by_position), "epistemic": epistemic}
    return Scores(per_example, metrics, tables)


def answer_positions(
    predictor: Predictor, sequences: np.ndarray, prior: SequencePrior
) -> np.ndarray:
    """Return the probabilities of the symbol at each position [N, T, V], from those before it."""
    answers = predictor.predict(list_inputs(sequences), all_positions=True)
    predictive = np.array(answers["predictive"], dtype=float)
    expected = (*sequences.shape, prior.num_symbols)
    if predictive.shape != expected:
        raise ValueError(f"probabilities of shape {predictive.shape}; expected {expected}")
    is_proper = (predictive >= 0).all() and np.isfinite(predictive).all()
    sums = predictive.sum(axis=2)
    if not is_proper or np.abs(sums - 1).max() > SUM_TOLERANCE:
        row = int(np.abs(sums - 1).max(axis=1).argmax())
        raise ValueError(
            f"row {row}: the answer is not a probability distribution: its sum is "
            f"{sums[row].max():.6g}"
        )
    return predictive


def _summarise(per_example: dict[str, np.ndarray], divergence: np.ndarray) -> dict[str, float]:
    metrics = {name: float(per_example[name].mean()) for name in ("regret", "kl", "nll")}
    metrics["bits"] = metrics["nll"] / math.log(2)
    metrics["accuracy_last"] = float(per_example["correct"].mean())
    num_seen = divergence.shape[1] - 1
    for place in sorted({*SHOWN_POSITIONS, num_seen}):
        if place <= num_seen:
            metrics[f"kl after {place}"] = float(divergence[:, place].mean())
    return metrics
