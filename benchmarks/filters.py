"""Filters: how many masks each candidate meets, by the number of calls of the simulator.

python benchmarks/filters.py        low-pass of orders 3, 5, 7 with E24 parts
python benchmarks/filters.py --kinds low-pass high-pass band-pass [--candidates diffusion gan]

Candidates train as the recipe says, on one core; `met` is the share of the masks that the theorem
allows. `random` is the control: random values around the textbook with as many calls.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from plumbline.contract.machine import read_cpu_name
from plumbline.contract.records import Learner
from plumbline.contract.yaml_file import load_yaml
from tasks.filter_design.data import ingest, read_inputs
from tasks.filter_design.models import build_learner
from tasks.filter_design.params import FilterParams
from tasks.filter_design.predictor import Predictor, TextbookPredictor, load

RECIPE = Path(__file__).resolve().parents[1] / "recipes/filter_design.yaml"
CANDIDATES = ("textbook", "random", "bayesian", "regression", "diffusion", "gan")


def main() -> None:
    """Print the table, with the CPU's name."""
    options = parse_options()
    torch.set_num_threads(1)
    print(read_cpu_name())
    with tempfile.TemporaryDirectory() as private, chdir(private):
        params = build_params(options)
        examples = Path("examples")
        examples.mkdir()
        ingest(params, examples, Path("manifest.parquet"))
        rows = list(measure(params, examples, options))
    print(pd.DataFrame(rows).to_string(index=False, float_format=lambda value: f"{value:.3f}"))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=["low-pass"])
    parser.add_argument("--series", nargs="+", default=["E24"])
    parser.add_argument("--candidates", nargs="+", choices=CANDIDATES, default=list(CANDIDATES))
    parser.add_argument("--calls", nargs="+", type=int, default=[1, 2, 8, 16, 64])
    parser.add_argument("--train", type=int, default=8457)
    parser.add_argument("--test", type=int, default=1342)
    parser.add_argument("--epochs", type=int, help="in place of those of the recipe")
    parser.add_argument("--hidden", type=int, help="units, in place of those of the recipe")
    return parser.parse_args()


def build_params(options: argparse.Namespace) -> FilterParams:
    """The recipe, with rows of the kinds and series that were asked for."""
    values: dict[str, Any] = load_yaml(RECIPE)
    rows = {"train": options.train, "validation": max(60, options.train // 20)}
    generated = values["data"]["generated"]
    generated |= {"rows": rows | {"test": options.test}, "open_order": 0.0}
    generated["kinds"] = dict.fromkeys(options.kinds, 1.0)
    generated["series"] = dict.fromkeys(options.series, 1.0)
    for config in values["candidates"].values():
        if "max_epochs" in config:
            config["max_epochs"] = options.epochs or config["max_epochs"]
            config["hidden"] = options.hidden or config["hidden"]
    return FilterParams.model_validate(values)


def measure(
    params: FilterParams, examples: Path, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield a row for each candidate."""
    columns = read_inputs(examples, "test")
    for name in options.candidates:
        start = time.process_time()
        predictor = train(params, name, examples)
        row: dict[str, Any] = {"candidate": name, "training s": time.process_time() - start}
        impossible_met = 0
        for calls in options.calls:
            start = time.process_time()
            answers = predictor.predict(columns, budget=calls, draws=0, designs=1)
            seconds = time.process_time() - start
            met, possible = np.array(answers["meets_spec"]), np.array(answers["possible"])
            row[f"met at {calls}"] = met[possible].mean()
            impossible_met += int(met[~possible].sum())
        row |= {"of all": met.mean(), "impossible met": impossible_met}
        kinds = np.array(columns["kind"])
        for kind in options.kinds if len(options.kinds) > 1 else []:
            row[kind] = met[possible & (kinds == kind)].mean()  # with the most calls
        yield row | {"ms": 1e3 * seconds / len(met)}  # of the last, the largest number of calls


def train(params: FilterParams, name: str, examples: Path) -> Predictor:
    """Train one candidate for all epochs, as the stage does, and return its best predictor."""
    if name == "random":
        return TextbookPredictor("random")
    learner = build_learner(params, name, examples)
    if learner.solve:
        learner.solve()
    else:
        fit(learner)
    bundle = Path(f"bundle-{name}")
    bundle.mkdir()
    learner.save(bundle)
    return load(bundle)


def fit(learner: Learner) -> None:
    """Train for all epochs and keep the weights of the least validation loss."""
    module, data = learner.module, learner.data
    optimizer, schedule = module.configure_optimizers()
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    least, best = float("inf"), module.state_dict()
    for epoch in range(learner.max_epochs):
        data.sampler.set_epoch(epoch)
        module.train()
        for batch in data.train_dataloader():
            optimizer.zero_grad()
            module.training_step(batch).backward()
            torch.nn.utils.clip_grad_norm_(weights, learner.gradient_clip)
            optimizer.step()
            schedule.step()
        loss = validate(module, data)
        if loss < least:
            least = loss
            best = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    module.load_state_dict(best)


@torch.no_grad()
def validate(module: Any, data: Any) -> float:
    """Return the validation loss."""
    module.eval()
    generator = torch.Generator().manual_seed(1)
    losses = [module.measure(batch, generator) for batch in data.val_dataloader()]
    return float(torch.cat(losses).mean())


if __name__ == "__main__":
    main()
