"""The simple candidate: add a number to the count of every symbol, in closed form."""

from pathlib import Path

import numpy as np

from plumbline.contract.records import Learner
from plumbline.process.files import write_json
from tasks.sequence_bayes.data.exact import pick_realised
from tasks.sequence_bayes.data.prior import SequencePrior
from tasks.sequence_bayes.params import RuleConfig
from tasks.sequence_bayes.predictor import count_symbols

LEAST, MOST = 1e-4, 1e7  # of what is added


def build_rule_learner(config: RuleConfig, prior: SequencePrior, train: np.ndarray) -> Learner:
    """Return the rule that `config` names, or that with the highest likelihood on train."""
    solved: dict[str, np.ndarray] = {}

    def solve() -> None:
        if config.alpha == "one" or config.alpha == "each":
            solved["alphas"] = find_alphas(train, prior.num_symbols, config.alpha == "each")
        else:
            solved["alphas"] = np.full(prior.num_symbols, config.alpha)

    def save(folder: Path) -> None:
        from safetensors.numpy import save_file

        save_file(solved, folder / "model.safetensors")
        values = {
            "kind": "rule",
            "num_symbols": prior.num_symbols,
            "max_history": prior.max_history,
        }
        write_json(folder / "config.json", values)

    return Learner(save=save, solve=solve)


def find_alphas(sequences: np.ndarray, num_symbols: int, for_each: bool) -> np.ndarray:
    """Return what, added to the counts, gives sequences [N, T] most probability [V].

    It is the maximum-likelihood estimate of a Dirichlet prior (Minka 2000, "Estimating a Dirichlet
    distribution"), symmetric or not, found by L-BFGS on logarithms.
    """
    from scipy.optimize import minimize

    counts = count_symbols(sequences, num_symbols)[:, :-1]
    before = pick_realised(counts, sequences)
    seen = np.arange(sequences.shape[1])
    size = num_symbols if for_each else 1

    def compute_loss(log_alphas: np.ndarray) -> float:
        alphas = np.broadcast_to(np.exp(log_alphas), num_symbols)
        probabilities = (before + alphas[sequences]) / (seen + alphas.sum())
        return -float(np.log(probabilities).sum())

    bounds = [(np.log(LEAST), np.log(MOST))] * size
    best = minimize(compute_loss, np.zeros(size), method="L-BFGS-B", bounds=bounds)
    return np.broadcast_to(np.exp(best.x), num_symbols).copy()
