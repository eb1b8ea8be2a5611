"""Signal extraction: speed of training and of stateful inference, and errors of the candidates.

python benchmarks/signals.py train [--candidate film]   windows/s beside a plain PyTorch loop
python benchmarks/signals.py infer                      times faster than real time, on one core
python benchmarks/signals.py results [--kind course] [--windows 10 50] [--candidates film]
                                     [--figure contexts.svg]     errors beside floor and filter
"""

import argparse
import hashlib
import inspect
import math
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import replace
from itertools import product
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from plumbline.entrypoint import THREADS

# Before torch starts threads.
os.environ |= {name: value for name, value in THREADS.items() if name not in os.environ}

import torch

from plumbline.contract.records import Figure, Learner
from plumbline.contract.task import Predictor
from plumbline.contract.trainings import read_speed
from plumbline.contract.yaml_file import load_yaml
from plumbline.process.files import digest_path
from plumbline.reporting.plots import BLACK, COLOURS, MARKERS, draw_figure
from plumbline.training import fitting
from plumbline.training.checkpoint_folders import remove_checkpoints
from tasks.signal_extraction.data import ingest, read_windows
from tasks.signal_extraction.models import build_learner
from tasks.signal_extraction.params import SignalParams, find_stride
from tasks.signal_extraction.predictor import load
from tasks.signal_extraction.scoring.floor import compute_floor
from tasks.signal_extraction.scoring.scores import answer_windows

RECIPES = Path(__file__).resolve().parents[1] / "recipes"
NAMES = {"course": "signal_extraction_course", "honest": "signal_extraction"}
WINDOWS, LSTMS = (10, 50, 100, 250), ("stateful", "window", "film")
COLUMNS = [
    "data",
    "L",
    "candidate",
    "MSE",
    "95 %",
    "last",
    "floor",
    "floor last",
    "seconds",
    "made by",
]
TEST_SEEDS = [2, *range(100, 119)]  # of the course: one realisation of 10 s has few windows
PAIRS, ROUNDS = 9, 3
SECONDS, PIECE = 60, 100  # of signal, and samples of a piece


def main() -> None:
    """Do what is asked."""
    parser = argparse.ArgumentParser(description="Speed and results of signal extraction.")
    parser.add_argument("what", choices=("train", "infer", "results"))
    parser.add_argument("--candidate", default="film", choices=LSTMS)
    parser.add_argument("--kind", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--windows", nargs="+", type=int, default=list(WINDOWS), help="samples")
    parser.add_argument(
        "--candidates",
        nargs="*",
        default=list(LSTMS),
        help="beside fir; none: only floor and filter",
    )
    parser.add_argument(
        "--table",
        type=Path,
        default=Path("signals.csv"),
        help="rows that are there are not made again",
    )
    parser.add_argument("--figure", type=Path, help="where to draw the table, as SVG")
    arguments = parser.parse_args()
    {"train": _train, "infer": _infer, "results": _results}[arguments.what](arguments)


def _train(arguments: argparse.Namespace) -> None:
    name = arguments.candidate
    params = _params(
        "honest", 100, **{name: {"windows_per_epoch": 4096, "max_epochs": 1, "patience": 1}}
    )
    found: dict[str, list[float]] = {"plumbline": [], "plain loop": []}
    with _examples(params) as examples:
        for _ in range(PAIRS):
            found["plumbline"].append(_ours(params, name, examples))
            found["plain loop"].append(_plain(params, name, examples))
    unit = "chunks of 50" if name == "stateful" else "windows of 100"
    print(
        f"{name}, {torch.get_num_threads()} threads, median of {PAIRS}: "
        f"{unit} samples a second, 4 frequencies each"
    )
    for way, rates in found.items():
        print(f"{way:<12}{median(rates):>9,.0f}   ({', '.join(f'{rate:,.0f}' for rate in rates)})")
    ratios = sorted(map(truediv, *found.values()))
    print(
        f"plumbline is {median(ratios):.2f} times as fast "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f} in a pair of rounds)"
    )


def _ours(params: SignalParams, name: str, examples: Path) -> float:
    fitting.fit(build_learner(params, name, examples), params, name, must_learn=False)
    remove_checkpoints(name)
    return read_speed(name)["train/samples_per_second"]


def _plain(params: SignalParams, name: str, examples: Path) -> float:
    """Train the same network on the same batches without our loop; Adam is not fused."""
    made, shape = build_learner(params, name, examples), params.candidates[name]
    model, sampler = made.module.model, made.data.sampler
    optimizer = torch.optim.Adam(model.parameters(), lr=shape.learning_rate)  # type: ignore[union-attr]
    sampler.set_epoch(0)
    count, state, began = 0, None, time.perf_counter()
    for numbers in sampler:
        batch = sampler.chunks.__getitems__(numbers)
        carried = (
            None if batch["first"][0] or state is None else tuple(part.detach() for part in state)
        )
        said, state = model(batch["signals"], carried)
        loss = torch.nn.functional.mse_loss(said, batch["components"])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        count += len(numbers)
    return count / (time.perf_counter() - began)


def _infer(arguments: argparse.Namespace) -> None:
    params = _params("honest", 100)
    with _examples(params) as examples:
        for name in ("stateful", "fir"):
            made = build_learner(params, name, examples)
            if made.solve:
                made.solve()
            predictor = _saved(made)  # how fast it answers does not depend on what it learned
            rate = params.data.sample_rate_hz
            signal = np.random.default_rng(0).normal(0, 0.3, rate * SECONDS).tolist()
            at_once = _seconds(predictor, [signal])
            pieces = _seconds(
                predictor, [signal[at : at + PIECE] for at in range(0, len(signal), PIECE)]
            )
            print(f"{name}: {SECONDS} s at {rate} Hz, one frequency, one core")
            print(f"  at once                  {SECONDS / at_once:>8,.0f} times real time")
            print(f"  {PIECE} samples at a time   {SECONDS / pieces:>8,.0f} times real time")


def _seconds(predictor: Predictor, pieces: list[list[float]]) -> float:
    """Seconds of processor time, the best of some."""
    found = []
    for _ in range(ROUNDS):
        state, began = None, time.process_time()
        for piece in pieces:
            said = predictor.predict({"signal": [piece], "frequency_hz": [3.0], "state": [state]})
            state = said["state"][0]
        found.append(time.process_time() - began)
    return min(found)


def _results(arguments: argparse.Namespace) -> None:
    """Train what the table lacks; the number of samples is the same for each window length."""
    torch.set_num_threads(1)
    path = arguments.table.resolve()
    table = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
    for kind, length, name in product(
        arguments.kind, arguments.windows, ["fir", *arguments.candidates]
    ):
        params = _params(kind, length)
        asked, made_by = (kind, length, name), _digest(params)
        same = [tuple(row[:3]) == asked for row in table.itertuples(index=False)]
        if made_by in table.loc[same, "made by"].values:
            continue
        with _examples(params) as examples:
            row = *asked, *_reached(params, name, examples), made_by
        table = pd.DataFrame(
            [*table[[not found for found in same]].itertuples(index=False), row], columns=COLUMNS
        )
        table.to_csv(path, index=False)
        print(
            ", ".join(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row),
            flush=True,
        )
    table = table.sort_values(["data", "L"], kind="stable")
    print(
        _beside_the_filter(table).drop(columns="made by").to_markdown(index=False, floatfmt=".3f")
    )
    if arguments.figure:
        white = _drawn(table).svg.replace(
            "<svg ", '<svg style="background: white" ', 1
        )  # also where a page is dark
        arguments.figure.write_text(white, encoding="utf-8")


def _reached(params: SignalParams, name: str, examples: Path) -> tuple[float, ...]:
    """Return error, half its interval, error at the last sample, both floors, and seconds."""
    began, made = time.perf_counter(), build_learner(params, name, examples)
    if made.solve:
        made.solve()
    else:
        fitting.fit(made, params, name, must_learn=False)
    seconds = time.perf_counter() - began
    found = replace(read_windows(examples, "test"), asked_once=False)
    errors = (
        answer_windows(_saved(made), found).reshape(found.components.shape) - found.components
    ) ** 2
    each, least = (
        errors.mean(axis=(1, 2)),
        compute_floor(found.setting),
    )  # windows are independent, their components are not
    reach = 1.96 * float(each.std(ddof=1)) / math.sqrt(len(each))
    return (
        float(each.mean()),
        reach,
        float(errors[..., -1].mean()),
        float(least.mean()),
        float(least[-1]),
        seconds,
    )


def _digest(params: SignalParams) -> str:
    """Of all that a row of the table follows from, but the libraries."""
    folders = [Path(inspect.getfile(found)).parent for found in (SignalParams, fitting.fit)]
    code = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    parts = [params.model_dump_json(), *map(digest_path, [*code, Path(__file__)])]
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]


def _beside_the_filter(table: pd.DataFrame) -> pd.DataFrame:
    filters = table[table["candidate"] == "fir"].set_index(["data", "L"])["MSE"]
    beside = [filters.get((row["data"], row["L"]), math.nan) for _, row in table.iterrows()]
    return table.assign(**{"FIR": beside, "excess": table["MSE"] - table["floor"]})


def _drawn(table: pd.DataFrame) -> Figure:
    """Error against context, a panel for each kind of data."""

    def draw(*panels: Any) -> None:
        for axes, (kind, rows) in zip(panels, table.groupby("data"), strict=True):
            for place, (name, found) in enumerate(rows.sort_values("L").groupby("candidate")):
                axes.plot(
                    found["L"],
                    found["MSE"],
                    color=COLOURS[place],
                    marker=MARKERS[place],
                    label=name,
                )
            least = rows.groupby("L")["floor"].first()
            axes.plot(least.index, least, color=BLACK, linestyle="--", label="floor")
            axes.set(xscale="log", ylim=(0, None), ylabel=f"mean squared error, {kind}")
            axes.set_xticks(least.index, [str(length) for length in least.index])
            axes.minorticks_off()
        panels[0].legend(loc="best")
        panels[-1].set_xlabel("samples of context")

    num_panels = table["data"].nunique()
    return draw_figure(
        "contexts",
        "Error against context",
        "",
        (6.2, 3.2 * num_panels),
        draw,
        num_panels,
        math=True,
    )


def _saved(made: Learner) -> Predictor:
    """What answers for a learner that has learned."""
    (folder := Path("bundle")).mkdir(exist_ok=True)
    made.save(folder)
    return load(folder)


def _params(kind: str, length: int, **changes: dict[str, Any]) -> SignalParams:
    """The recipe of a kind, with windows of another length and changes to its candidates."""
    values = load_yaml(RECIPES / f"{NAMES[kind]}.yaml")
    usual, values["data"]["window"] = values["data"]["window"], length
    if kind == "course":
        rate = values["data"]["sample_rate_hz"]
        values["data"]["stride"] = find_stride(length, rate)
        values["data"]["seeds"]["test"] = TEST_SEEDS
    values["candidates"]["fir"]["taps"] = length
    stateful = values["candidates"]["stateful"]
    stateful["chunk"] = math.gcd(length, stateful["chunk"])
    for name in LSTMS:
        shape = values["candidates"][name]
        for key in ("max_epochs", "patience"):
            shape[key] = max(1, round(shape[key] * usual / length))
    for name, change in changes.items():
        values["candidates"][name] |= change
    return SignalParams.model_validate(values)


@contextmanager
def _examples(params: SignalParams) -> Iterator[Path]:
    """A folder of its own, with the examples in it, as the working directory."""
    with tempfile.TemporaryDirectory(prefix="plumbline-signals-") as folder, chdir(folder):
        examples = Path(folder) / "data/examples"
        examples.mkdir(parents=True)
        ingest(params, examples, Path(folder) / "data/manifest.parquet")
        yield examples


if __name__ == "__main__":
    main()
