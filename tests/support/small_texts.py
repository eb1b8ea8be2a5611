"""A text classification small enough to train in a second: examples, parameters, a silent log."""

import random
from pathlib import Path
from typing import cast

import pyarrow as pa

from plumbline.contract.loading import load_params
from plumbline.contract.params import Parity
from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.params import EnsembleConfig, TextParams

ROOT = Path(__file__).resolve().parents[2]
CANDIDATES = ("linear", "transformer", "ensemble")
WORDS = {
    "billing": ["invoice", "charged", "twice", "refund", "payment", "amount"],
    "delivery": ["parcel", "late", "courier", "tracking", "arrived", "address"],
    "login": ["password", "locked", "account", "reset", "sign", "code"],
}
FILLERS = [
    "please", "help", "my", "the", "was", "not", "is", "again", "since", "monday", "hello",
    "thanks",
]  # fmt: skip
SHIPPED = load_params(ROOT / "recipes/text_classification.yaml")
LIMITS = SHIPPED.evaluation  # what is asked of a winner
NUM_ROWS = {"train": 112, "validation": 49, "test": 60}


def write_examples(folder: Path) -> None:
    """Write sentences of 3 to 9 words, some of which are typical of the class."""
    folder.mkdir(parents=True)
    for seed, (split, count) in enumerate(NUM_ROWS.items()):
        draw = random.Random(seed)
        labels = [draw.choice(sorted(WORDS)) for _ in range(count)]
        texts = [_draw_sentence(draw, label) for label in labels]
        ids = [f"{split}-{row:04}" for row in range(count)]
        table = pa.table({"id": ids, "text": texts, "label": labels})
        write_split(folder, split, table)


def small_params(**changes: object) -> TextParams:
    """Return the recipe with smaller candidates; `changes` are those of the transformer.

    `ensemble` has three of it, `linears` three linear members.

    There are 7 steps per epoch, 3 epochs, and a checkpoint every 3 steps.
    """
    params = cast(TextParams, SHIPPED)
    short = {"batch_size": 16, "max_epochs": 3, "patience": 3}
    tiny = {"vocabulary": 400, "hidden": 32, "layers": 1, "heads": 2, "max_tokens": 16}
    linear = params.candidates["linear"]
    transformer = load_params(ROOT / "recipes/banking77.yaml").candidates["transformer"]
    candidates = {
        "linear": linear.model_copy(update=short),
        "transformer": transformer.model_copy(update={**short, **tiny, **changes}),
    }
    candidates["ensemble"] = EnsembleConfig(
        kind="ensemble", members=3, member=candidates["transformer"]
    )
    candidates["linears"] = EnsembleConfig(kind="ensemble", members=3, member=candidates["linear"])
    training = params.training.model_copy(
        update={"checkpoint_every_steps": 3, "device": "cpu", "precision": "fp32"}
    )
    return params.model_copy(update={"candidates": candidates, "training": training})


def accept_small_splits(params: TextParams) -> TextParams:
    """Ask less of an int8 form: in 40 validation rows, limits of large data show no parity."""
    limits = Parity(max_loss=0.2, min_agreement=0.8)
    evaluation = params.evaluation.model_copy(update={"parity": limits})
    return params.model_copy(update={"evaluation": evaluation})


def _draw_sentence(draw: random.Random, label: str) -> str:
    words = draw.choices(FILLERS, k=draw.randint(2, 6))
    words += draw.choices(WORDS[label], k=draw.randint(1, 3))
    draw.shuffle(words)
    return " ".join(words)
