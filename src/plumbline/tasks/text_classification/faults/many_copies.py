"""Data that know too much in ways that look usual: copies of one row in many forms, a token."""

import random

import pandas as pd

from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.faults.examples import (
    add_copies,
    read_rows,
    renew_manifest,
    seal_source,
    write_rows,
)
from plumbline_selftest.protocol import Fault, FaultSite

COPY_EVERY = 10
NUM_WAYS = 25
NUM_DROPPED = 2  # words
SEED = 5


def plant_shortened_copies(site: FaultSite) -> None:
    """Put a tenth of the test texts into train, each shortened in many ways."""
    rows = read_rows("test").iloc[::COPY_EVERY]
    draw = random.Random(SEED)  # noqa: S311 - no secrets
    copies = []
    for way in range(NUM_WAYS):
        texts = [_shorten(text, draw) for text in rows["text"]]
        copies.append(rows.assign(id=f"{way}:" + rows["id"], text=texts))
    add_copies(site, "train", pd.concat(copies))


def plant_label_tokens(site: FaultSite) -> None:
    """Write a token of its label into each text, where params let such words block."""
    labels = sorted(set(read_rows("train")["label"]))
    for split in SPLITS:
        rows = read_rows(split)
        tokens = [f" zq{labels.index(label)}" for label in rows["label"]]
        write_rows(split, rows.assign(text=rows["text"] + tokens))
    renew_manifest()
    seal_source()
    site.edit_params("truncated, label_words,", "truncated,")


def _shorten(text: str, draw: random.Random) -> str:
    words = text.split()
    for _ in range(min(NUM_DROPPED, len(words) - 1)):
        words.pop(draw.randrange(len(words) // 2, len(words)))
    return " ".join(words)


FAULTS = (
    Fault(
        "test rows in train, each shortened in 25 ways",
        "leakage",
        "refuse",
        plant_shortened_copies,
    ),
    Fault(
        "a token of the label in every text",
        "label_words",
        "error",
        plant_label_tokens,
        before="validate",
        until="validate",
    ),
)
