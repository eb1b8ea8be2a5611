"""CPU time of a text in fp32 and int8 of one encoder, and what int8 loses.

    python benchmarks/forms.py [--model models/minilm] [--texts N] [--rounds N]

The form int8 is derived from the graph `fp32` of the bundle. Each is run on one thread, in turn
with the other, over the same test texts sorted by length. The unit is CPU time, of which the least
of the rounds counts: other programs on the machine, whose number is printed as its load, only add
to it. int8 in batches is shown for comparison: the predictor sends it one text at a time, since its
answers depend on the batch. Ratios are to what one text costs in int8, alone.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from machine import describe_machine
from tokenizers import Tokenizer

from plumbline.contract import layout
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models.int8 import INT8, write_int8_form
from plumbline.tasks.text_classification.predictor import EncodedText, TokenFeatures, open_graph

SIZES = (1, 8, 16, 32)


def main() -> None:
    """Print two tables: what a form loses, and what it costs."""
    parser = argparse.ArgumentParser(description="CPU time of a text in each form.")
    parser.add_argument("--model", type=Path, default=Path("models/minilm"))
    parser.add_argument("--texts", type=int, default=64, help="timed; all test texts are answered")
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    print(describe_machine())
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        sessions = open_forms(arguments.model, Path(folder))
    table = read_split(layout.EXAMPLES, "test", ["text", "label"])
    features = TokenFeatures(Tokenizer.from_file(str(arguments.model / "tokenizer.json")))
    texts = features.encode_texts(table["text"].to_pylist())
    print_losses(sessions, texts, read_targets(arguments.model, table["label"].to_pylist()))
    print_costs(sessions, texts[: arguments.texts], arguments.rounds)


def open_forms(model: Path, folder: Path) -> dict[str, Any]:
    """Derive int8 from the bundle `model`; return a session of each by name."""
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    graph = onnx.load(model / config["forms"]["fp32"])
    sessions = {"fp32": open_graph(model / config["forms"]["fp32"])}
    start = time.process_time()
    write_int8_form(graph, folder / INT8)
    sessions[INT8] = open_graph(folder / INT8)
    print(f"{INT8} derived in {time.process_time() - start:.1f} s of CPU")
    return sessions


def read_targets(model: Path, labels: list[str]) -> np.ndarray:
    """Return the number of each label's class."""
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    return np.array([config["classes"].index(label) for label in labels])


def print_losses(sessions: dict[str, Any], texts: list[EncodedText], targets: np.ndarray) -> None:
    """Print what each form answers otherwise than fp32, and how far company moves its logits."""
    mixed = np.random.default_rng(0).permutation(len(texts))
    reference = run_in_batches(sessions["fp32"], texts, mixed, 1)
    print("\n| form | accuracy | agrees with fp32 | largest move of a probability | by company |")
    print("|---|---|---|---|---|")
    for form, session in sessions.items():
        alone = run_in_batches(session, texts, mixed, 1)
        together = run_in_batches(session, texts, mixed, 32)
        hits = (alone.argmax(axis=1) == targets).mean()
        agreement = (alone.argmax(axis=1) == reference.argmax(axis=1)).mean()
        move = np.abs(soften(alone) - soften(reference)).max()
        company = np.abs(together - alone).max()
        print(f"| {form} | {hits:.4f} | {agreement:.4f} | {move:.3f} | {company:.1e} |", flush=True)


def print_costs(sessions: dict[str, Any], texts: list[EncodedText], num_rounds: int) -> None:
    """Print CPU ms a text at each batch size, and how many times cheaper than one by one."""
    order = np.argsort([len(ids) for ids, _ in texts], kind="stable")
    spent: dict[tuple[str, int], list[float]] = {}
    for _ in range(num_rounds):
        for form, session in sessions.items():
            for size in SIZES:
                start = time.thread_time()
                run_in_batches(session, texts, order, size)
                seconds = time.thread_time() - start
                spent.setdefault((form, size), []).append(1000 * seconds / len(texts))
    base = min(spent[INT8, 1])
    print(f"\nCPU ms a text (times cheaper than {INT8} alone), least of {num_rounds} rounds")
    print()
    print("| form | " + " | ".join(f"batch {size}" for size in SIZES) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for form in sessions:
        cells = []
        for size in SIZES:
            least = min(spent[form, size])
            cells.append(f"{least:.2f} ({base / least:.2f} x)")
        print(f"| {form} | {' | '.join(cells)} |")


def run_in_batches(
    session: Any, texts: list[EncodedText], order: np.ndarray, size: int
) -> np.ndarray:
    """Return the logits of all texts, in their order; they are run in `order`, `size` at a time."""
    logits: list[Any] = [None] * len(texts)
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        shape = (len(numbers), max(len(texts[number][0]) for number in numbers))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, number in enumerate(numbers):
            text, ones = texts[number]
            ids[row, : len(text)], mask[row, : len(text)] = text, ones
        names = [argument.name for argument in session.get_inputs()]
        answers = session.run(None, dict(zip(names, (ids, mask), strict=True)))[0]
        for number, answer in zip(numbers, answers, strict=True):
            logits[number] = answer
    return np.array(logits)


def soften(logits: np.ndarray) -> np.ndarray:
    """Return probabilities, without the temperature of the bundle."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main()
