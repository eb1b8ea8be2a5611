"""Texts with sets of labels, small enough to train in a second."""

import json
import random
from pathlib import Path

import pyarrow as pa
from tests.support.small_texts import (
    FILLERS,
    SHIPPED,
    WORDS,
    accept_small_splits,
    small_params,
)
from tests.support.small_trained import train_candidates

from plumbline.contract import layout
from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data.label_sets import join_labels
from plumbline.tasks.text_classification.params import TextParams

NUM_ROWS = {"train": 400, "validation": 120, "test": 120}


def make_set_params(**changes: object) -> TextParams:
    """Return the shipped params for sets of labels; `changes` are those of whole sections."""
    values = SHIPPED.model_dump(mode="json")
    values["data"]["columns"]["label_separator"] = "|"
    for section, change in changes.items():
        values[section] |= change
    return TextParams.model_validate(values)


def write_set_examples(folder: Path) -> None:
    """Write sentences with typical words of none, one, two or all of three labels."""
    folder.mkdir(parents=True)
    for seed, (split, count) in enumerate(NUM_ROWS.items()):
        draw = random.Random(seed)
        sets = [draw.sample(sorted(WORDS), draw.randrange(len(WORDS) + 1)) for _ in range(count)]
        labels = [join_labels(each) for each in sets]
        table = pa.table(
            {
                "id": [f"{split}-{row:04}" for row in range(count)],
                "text": [_draw_sentence(draw, each) for each in sets],
                "label": labels,
                "label_set": [json.dumps(sorted(each)) for each in sets],
            }
        )
        write_split(folder, split, table)


def train_on_sets(folder: Path) -> None:
    """Train and seal a linear model and a transformer with an int8 form in `folder`."""
    write_set_examples(folder / layout.EXAMPLES)
    params = accept_small_splits(small_params(max_epochs=6))
    train_candidates(folder, params, ("linear", "transformer"))


def _draw_sentence(draw: random.Random, labels: list[str]) -> str:
    words = draw.choices(FILLERS, k=draw.randint(2, 6))
    for label in labels:
        words += draw.choices(WORDS[label], k=2)
    draw.shuffle(words)
    return " ".join(words)
