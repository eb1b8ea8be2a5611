"""Sequences: how near each candidate comes to the exact Bayesian answer, and what orders bring.

python benchmarks/sequences.py results [--kind mixture] [--candidates counts rope] [--seeds 1 2]
python benchmarks/sequences.py results --candidates learned counts:input code_length:target
python benchmarks/sequences.py orders [--candidates learned]     means over orders of the history

Every candidate trains as the recipe says, each seed on its own; times are CPU seconds of one core.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pandas as pd
import torch
from machine import read_cpu_name

from plumbline.contract.records import Learner, Scores
from plumbline.contract.yaml_file import load_yaml
from plumbline.tasks.sequence_bayes.data import ingest, read_prior, read_sequences
from plumbline.tasks.sequence_bayes.models import build_learner
from plumbline.tasks.sequence_bayes.params import SequenceParams
from plumbline.tasks.sequence_bayes.predictor import load
from plumbline.tasks.sequence_bayes.scoring import score
from plumbline.tasks.sequence_bayes.scoring.uncertainty import measure_orders

RECIPE = Path(__file__).resolve().parents[1] / "recipes/sequence_bayes.yaml"
POSITIONS = ("none", "learned", "sinusoidal", "rope", "alibi")
STATISTICS = ("counts:input", "counts:target", "code_length:input", "code_length:target")
DATA: dict[str, dict[str, Any]] = {
    "mixture": {},
    "bernoulli": {"ones": 1.0, "zeros": 1.0},
    "markov": {"num_symbols": 4, "alpha": 0.5, "stay": 2.0},
}
SHOWN = ["regret", "kl", "kl after 1", "kl after 5", "kl after 20", "kl after 63", "order_sd"]
SHOWN += ["martingale_violation", "epistemic_r"]


def main() -> None:
    """Print the table that was asked for, with the CPU's name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["results", "orders"])
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
        else:
            yield summarise(name, results)


def train_once(name: str, seed: int, options: argparse.Namespace) -> tuple[Scores, float, Any]:
    """Train one candidate; return its test scores, the CPU seconds, and what orders bring."""
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
        return score(examples, "test", predictor), seconds, orders


def build_params(name: str, seed: int, options: argparse.Namespace) -> SequenceParams:
    """The recipe, with the data of `--kind`, another seed, and the candidate `name`."""
    values: dict[str, Any] = load_yaml(RECIPE)
    candidates = values["candidates"]
    if name in POSITIONS:
        candidates[name] = candidates["learned"] | {"positions": name}
    if name in STATISTICS:
        kind, use = name.split(":")
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
    found = learner.module.configure_optimizers()
    optimizer, schedule = found["optimizer"], found["lr_scheduler"]["scheduler"]
    for epoch in range(learner.max_epochs):
        learner.data.sampler.set_epoch(epoch)
        for batch in learner.data.train_dataloader():
            optimizer.zero_grad()
            learner.module.training_step(batch, 0).backward()
            torch.nn.utils.clip_grad_norm_(learner.module.parameters(), learner.gradient_clip)
            optimizer.step()
            schedule.step()


def summarise(name: str, results: list[tuple[Scores, float, Any]]) -> dict[str, Any]:
    """One row: the mean over seeds of each metric, and the deviation of the regret."""
    row: dict[str, Any] = {"candidate": name}
    for metric in SHOWN:
        values = [scores.metrics[metric] for scores, _, _ in results if metric in scores.metrics]
        row[metric] = mean(values) if values else float("nan")
    regrets = [scores.metrics["regret"] for scores, _, _ in results]
    row["sd of seeds"] = stdev(regrets) if len(regrets) > 1 else float("nan")
    row["CPU s"] = mean(seconds for _, seconds, _ in results)
    return row


def list_orders(name: str, results: list[tuple[Scores, float, Any]]) -> Iterator[dict[str, Any]]:
    """One row for each number of orders: the deviation of a probability, and the divergence."""
    table = pd.concat([orders for _, _, orders in results]).groupby("orders").mean()
    for orders, values in table.iterrows():
        yield {"candidate": name, "orders": int(orders), "sd": values["sd"], "kl": values["kl"]}


if __name__ == "__main__":
    main()
