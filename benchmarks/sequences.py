"""Sequences: how near each candidate comes to the exact Bayesian answer, and what orders bring.

python benchmarks/sequences.py results [--kind mixture] [--candidates counts rope] [--seeds 1 2]
python benchmarks/sequences.py results --candidates learned counts-input code_length-target
python benchmarks/sequences.py orders [--candidates learned]     means over orders of the history
python benchmarks/sequences.py doubt [--candidates counts learned]  what its uncertainty is worth

Every candidate trains as the recipe says, each seed on its own; times are CPU seconds of one core.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd
import torch

from plumbline.contract.machine import read_cpu_name
from plumbline.contract.records import Learner, Scores
from plumbline.contract.task import Predictor
from plumbline.contract.yaml_file import load_yaml
from tasks.sequence_bayes.data import (
    SequencePrior,
    ingest,
    list_inputs,
    read_prior,
    read_sequences,
)
from tasks.sequence_bayes.data.exact import compute_epistemic
from tasks.sequence_bayes.models import build_learner
from tasks.sequence_bayes.params import SequenceParams
from tasks.sequence_bayes.predictor import compute_entropy, load
from tasks.sequence_bayes.scoring import score
from tasks.sequence_bayes.scoring.uncertainty import (
    ask_in_orders,
    compute_rank_correlation,
    measure_orders,
)

RECIPE = Path(__file__).resolve().parents[1] / "recipes/sequence_bayes.yaml"
POSITIONS = ("none", "learned", "sinusoidal", "rope", "alibi")
STATISTICS = ("counts-input", "counts-target", "code_length-input", "code_length-target")
DATA: dict[str, dict[str, Any]] = {
    "mixture": {},
    "bernoulli": {"ones": 1.0, "zeros": 1.0},
    "markov": {"num_symbols": 4, "alpha": 0.5, "stay": 2.0},
}
DOUBT_ROWS, DOUBT_ORDERS, DOUBT_LENGTHS = 200, 16, (5, 20)
SHOWN = ["regret", "kl", "kl after 1", "kl after 5", "kl after 20", "kl after 63", "order_sd"]
SHOWN += ["martingale_violation", "epistemic_r"]


def main() -> None:
    """Print the table that was asked for, with the CPU's name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["results", "orders", "doubt"])
    parser.add_argument("--kind", choices=list(DATA), default="mixture")
    parser.add_argument("--candidates", nargs="+", default=["rule", "counts", *POSITIONS])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--epochs", type=int, help="in place of those of the recipe")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(read_cpu_name())
    rows = list(measure(options))
    print(pd.DataFrame(rows).to_string(index=False, float_format=lambda value: f"{value:.5f}"))


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each candidate, or for each candidate and number of orders."""
    for name in options.candidates:
        results = [train_once(name, seed, options) for seed in options.seeds]
        if options.table == "orders":
            yield from list_orders(name, results)
        elif options.table == "doubt":
            yield summarise_doubt(name, results)
        else:
            yield summarise(name, results)


@dataclass(frozen=True)
class Result:
    """One candidate of one seed: its test scores, CPU seconds of training, and two tables."""

    scores: Scores
    seconds: float
    orders: pd.DataFrame  # what means over orders of the history bring
    doubt: dict[str, float]  # what its uncertainty is worth


def train_once(name: str, seed: int, options: argparse.Namespace) -> Result:
    """Train one candidate and score it."""
    with tempfile.TemporaryDirectory() as private, chdir(private):
        params = build_params(name, seed, options)
        examples = Path("examples")
        examples.mkdir()
        ingest(params, examples, Path("manifest.parquet"))
        learner = build_learner(params, name, examples)
        start = time.process_time()
        fit(learner)
        seconds = time.process_time() - start
        bundle = Path("bundle")
        bundle.mkdir()
        learner.save(bundle)
        predictor = load(bundle)
        prior, sequences = read_prior(examples), read_sequences(examples, "test")
        orders = measure_orders(prior, sequences, predictor).table
        scores = score(examples, "test", predictor)
        return Result(scores, seconds, orders, measure_doubt(prior, sequences, predictor, scores))


def build_params(name: str, seed: int, options: argparse.Namespace) -> SequenceParams:
    """The recipe, with the data of `--kind`, another seed, and the candidate `name`."""
    values: dict[str, Any] = load_yaml(RECIPE)
    candidates = values["candidates"]
    if name in POSITIONS:
        candidates[name] = candidates["learned"] | {"positions": name}
    if name in STATISTICS:
        kind, use = name.split("-")
        candidates[name] = candidates["learned"] | {"statistic": {"kind": kind, "use": use}}
    if name == "transitions":
        candidates[name] = candidates["counts"] | {"kind": "transitions"}
    if options.epochs and name != "rule":
        candidates[name]["max_epochs"] = options.epochs
    if options.kind != "mixture":
        kept = {key: values["data"][key] for key in ("watch", "length", "rows")}
        values["data"] = kept | {"kind": options.kind} | DATA[options.kind]
    return SequenceParams.model_validate(values | {"seed": seed})


def fit(learner: Learner) -> None:
    """Train for all epochs, as the stage does on one core, without its checkpoints."""
    if learner.solve:
        learner.solve()
        return
    optimizer, schedule = learner.module.configure_optimizers()
    for epoch in range(learner.max_epochs):
        learner.data.sampler.set_epoch(epoch)
        for batch in learner.data.train_dataloader():
            optimizer.zero_grad()
            learner.module.training_step(batch).backward()
            torch.nn.utils.clip_grad_norm_(learner.module.parameters(), learner.gradient_clip)
            optimizer.step()
            schedule.step()


def measure_doubt(
    prior: SequencePrior, sequences: np.ndarray, predictor: Predictor, scores: Scores
) -> dict[str, float]:
    """Correlate kinds of doubt with the exact epistemic part, and doubt with what went wrong.

    Spearman's correlations. `orders` is the entropy of the mean over orders less the mean of the
    entropies, which is at times called epistemic. `error`: entropy against the loss, after all.
    """
    rows = sequences[:DOUBT_ROWS]
    values = {"calibration": compute_calibration(scores)}
    for length in DOUBT_LENGTHS:
        histories = rows[:, :length]
        exact = compute_epistemic(prior, histories)
        in_orders = ask_in_orders(histories, DOUBT_ORDERS, predictor)
        spread = compute_entropy(in_orders.mean(axis=1)) - compute_entropy(in_orders).mean(axis=1)
        answers = predictor.predict({"sequence": histories.tolist()}, rollouts=6)
        doubts = {
            "rollouts": [value[0] for value in answers["epistemic"]],
            "orders": spread.round(12),  # what is left of an order-free answer is rounding
            "entropy": answers["entropy"],
        }
        for kind, doubt in doubts.items():
            values[f"{kind} after {length}"] = compute_rank_correlation(
                pd.Series(doubt), pd.Series(exact)
            )
    last = np.array(predictor.predict(list_inputs(sequences))["entropy"])
    wrong = 1 - scores.per_example["correct"]
    values["error"] = compute_rank_correlation(pd.Series(last), pd.Series(wrong))
    return values


def compute_calibration(scores: Scores) -> float:
    """Mean distance between confidence and accuracy over ten groups of equal size."""
    confidence, correct = scores.per_example["confidence"], scores.per_example["correct"]
    groups = np.array_split(np.argsort(confidence, kind="stable"), 10)
    return mean(float(abs(confidence[group].mean() - correct[group].mean())) for group in groups)


def summarise_doubt(name: str, results: list[Result]) -> dict[str, Any]:
    """One row: the mean over seeds of what its uncertainty is worth."""
    kinds = results[0].doubt
    return {"candidate": name} | {
        kind: mean(result.doubt[kind] for result in results) for kind in kinds
    }


def summarise(name: str, results: list[Result]) -> dict[str, Any]:
    """One row: the mean over seeds of each metric, and the deviation of the regret."""
    row: dict[str, Any] = {"candidate": name}
    for metric in SHOWN:
        measured = [result.scores.metrics for result in results]
        values = [metrics[metric] for metrics in measured if metric in metrics]
        row[metric] = mean(values) if values else float("nan")
    regrets = [result.scores.metrics["regret"] for result in results]
    row["sd of seeds"] = stdev(regrets) if len(regrets) > 1 else float("nan")
    row["CPU s"] = mean(result.seconds for result in results)
    return row


def list_orders(name: str, results: list[Result]) -> Iterator[dict[str, Any]]:
    """One row for each number of orders: the deviation of a probability, and the divergence."""
    table = pd.concat([result.orders for result in results]).groupby("orders").mean()
    for orders, values in table.iterrows():
        yield {"candidate": name, "orders": int(orders), "sd": values["sd"], "kl": values["kl"]}


if __name__ == "__main__":
    main()
