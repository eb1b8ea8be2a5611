"""Rows/s and memory of `plumbline score`, beside ONNX Runtime alone and beside Transformers.

    python benchmarks/score.py [--model models/minilm | models:/NAME@champion] [--rows N]
    python benchmarks/score.py --memory [--model models/linear] [--sizes 10000 100000 1000000]

The stock peer is transformers.pipeline("text-classification", batch_size=32) with the bundle's own
weights. All answer the same tickets on the same machine, each in its own process with a model that
is loaded and has answered a batch; the better of two rounds counts. The benchmark fails if their
labels differ. With --memory the model is loaded meanwhile, as the command does.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from machine import describe_machine
from processes import ProcessCost, measure_process, open_folder

from plumbline import bundle
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.scoring import ScoringRequest, score
from plumbline.scoring.scorer import load_model
from plumbline.tasks.text_classification.data.generated import draw_ticket

PEERS = {
    "transformers": "transformers.pipeline, batches of 32",
    "in-process": "ONNX Runtime in process",
    "csv": "plumbline score, CSV",
    "parquet": "plumbline score, Parquet",
}
BATCH, ROUNDS = 32, 2
NUM_TICKETS = 20_000  # different ones
MIN_AGREEMENT = 0.98  # of labels, as the gate `parity` asks of a form that is served


def main() -> None:
    """Run one peer, or each in a process of its own."""
    parser = argparse.ArgumentParser(description="Rows/s and memory of batch scoring.")
    parser.add_argument("--model", default="", help="a bundle's folder or a registered model")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--memory", action="store_true", help="peak memory as the input grows")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        print(json.dumps(MEASURES[options.peer](options)))
        return
    with open_folder("plumbline-score-") as folder:
        if options.memory:
            compare_memory(options.model or "models/linear", options.sizes, folder)
        else:
            compare_speed(options.model or "models/minilm", options.rows, folder)


def compare_speed(model: str, num_rows: int, folder: Path) -> None:
    """Print rows/s of each peer."""
    write_tickets(folder, num_rows)
    rounds = [[run_peer(peer, model, folder)[0] for peer in PEERS] for _ in range(ROUNDS)]
    print(f"{num_rows:,} texts; {model}; {describe_machine()}\n")
    print("| program | form | rows/s | CPU a row |\n|---|---|---|---|")
    for title, pair in zip(PEERS.values(), zip(*rounds, strict=True), strict=True):
        best = max(pair, key=lambda one: one["rate"])
        print(f"| {title} | {best['form']} | {best['rate']:.0f} | {best['cpu_ms']:.2f} ms |")
        hits = [a == b for a, b in zip(best["labels"], rounds[0][0]["labels"], strict=True)]
        if sum(hits) < MIN_AGREEMENT * num_rows:
            raise SystemExit(f"{title} agrees on {sum(hits) / num_rows:.2%} of the labels")


def compare_memory(model: str, sizes: list[int], folder: Path) -> None:
    """Print the peak of `plumbline score` for each number of rows."""
    print("| rows | CSV | peak memory | rows/s | seconds |\n|---|---|---|---|---|")
    for size in sizes:
        num_bytes = write_tickets(folder, size)
        result, cost = run_peer("csv", model, folder, "--memory")
        figures = f"{cost.peak_mb:.0f} MB | {result['rate']:,.0f} | {cost.seconds:.1f}"
        print(f"| {size:,} | {num_bytes / 1e6:.1f} MB | {figures} |", flush=True)
    # At the end: it imports torch, and Linux counts the memory of this process as its children's.
    print(f"\n{model}; {describe_machine()}")


def run_peer(peer: str, model: str, folder: Path, *more: str) -> tuple[dict[str, Any], ProcessCost]:
    """Run a peer in its own process; return its result, and what it cost."""
    command = [sys.executable, __file__, "--peer", peer, "--folder", str(folder)]
    with (folder / "output").open("w+") as output:
        cost = measure_process([*command, "--model", model, *more], Path.cwd(), output=output)
    return json.loads((folder / "output").read_text().splitlines()[-1]), cost


def write_tickets(folder: Path, num_rows: int) -> int:
    """Write tickets as CSV and as Parquet; return the bytes of the CSV file."""
    num_drawn = min(num_rows, NUM_TICKETS)
    texts = [draw_ticket(random.Random(number), 0.0).text for number in range(num_drawn)]
    texts = (texts * (num_rows // num_drawn + 1))[:num_rows]
    table = pa.table({"number": range(num_rows), "text": texts})
    pq.write_table(table, folder / "texts.parquet")
    pyarrow.csv.write_csv(table, folder / "texts.csv")
    return (folder / "texts.csv").stat().st_size


def open_version(model: str) -> CachedVersion:
    """Open a registered model, or a bundle's folder as if it were one."""
    if model.startswith("models:/"):
        return VerifiedModelCache(model).fetch_latest()
    folder = Path(model)
    return CachedVersion(folder.name, "0", bundle.digest(folder), "", folder, folder)


def read_texts(folder: Path) -> list[str]:
    """Read the tickets."""
    return list(pq.read_table(folder / "texts.parquet")["text"].to_pylist())


def measure_answers(
    ask: Callable[[list[str]], list[str]], texts: list[str], form: str
) -> dict[str, Any]:
    """Ask for a batch, then for all labels, and time that."""
    ask(texts[:BATCH])
    start, spent = time.perf_counter(), time.process_time()
    labels = ask(texts)
    seconds, spent = time.perf_counter() - start, time.process_time() - spent
    rates = {"rate": len(texts) / seconds, "cpu_ms": 1000 * spent / len(texts)}
    return rates | {"labels": labels, "form": form}


def measure_transformers(options: argparse.Namespace) -> dict[str, Any]:
    """Ask the pipeline of Transformers."""
    from serving.peers.mean_pooled import build_pipeline
    from transformers.utils import logging

    # Transformers logs an error because it does not know the model's class by name.
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    folder = open_version(options.model).folder
    limit = json.loads((folder / "config.json").read_text(encoding="utf-8"))["max_tokens"]
    pipeline = build_pipeline(folder, batch_size=BATCH)

    def ask(texts: list[str]) -> list[str]:
        answers = pipeline(texts, truncation=True, max_length=limit, top_k=3)
        return [answer[0]["label"] for answer in answers]

    return measure_answers(ask, read_texts(options.folder), "fp32")


def measure_in_process(options: argparse.Namespace) -> dict[str, Any]:
    """Ask the predictor itself."""
    version = open_version(options.model)
    predictor = load_model(version)
    return measure_answers(
        lambda texts: predictor.predict({"text": texts})["label"],
        read_texts(options.folder),
        read_form(version.folder),
    )


def measure_command(suffix: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the command itself, from the first byte read to the published output."""
    source, target = (options.folder / f"{name}.{suffix}" for name in ("texts", "answers"))
    version = open_version(options.model)
    predictor = None
    if not options.memory:
        predictor = load_model(version)
        predictor.predict({"text": read_texts(options.folder)[:BATCH]})
    spent = time.process_time()
    request = ScoringRequest(source, target, {}, overwrite=True)
    summary = score(version, request, lambda *_: None, print, predictor)
    rates = {"rate": summary.num_rows / summary.seconds}
    if options.memory:
        return rates
    rates["cpu_ms"] = 1000 * (time.process_time() - spent) / summary.num_rows
    read = pyarrow.csv.read_csv if suffix == "csv" else pq.read_table
    return rates | {
        "labels": read(target)["label"].to_pylist(),
        "form": read_form(version.folder),
    }


def read_form(folder: Path) -> str:
    """Return which form of a bundle answers."""
    return str(json.loads((folder / "config.json").read_text(encoding="utf-8"))["served"])


MEASURES = {
    "transformers": measure_transformers,
    "in-process": measure_in_process,
    "csv": partial(measure_command, "csv"),
    "parquet": partial(measure_command, "parquet"),
}

if __name__ == "__main__":
    main()
