"""Faults that only models of label sets can have, or the data they learn from.

The champion gives each row one label, as it did before.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract import layout
from plumbline.tasks.text_classification import predictor
from plumbline.tasks.text_classification.data import read_label_sets
from plumbline.tasks.text_classification.data.label_sets import (
    NO_LABEL,
    SEPARATOR,
    split_labels,
)
from plumbline.tasks.text_classification.faults.examples import keep_test_rows, read_rows
from plumbline.tasks.text_classification.faults.models import change_config, plant_int8
from plumbline.tasks.text_classification.faults.sound_data import (
    Row,
    declare_refused,
    use_given_files,
    use_rows,
)
from plumbline_selftest.protocol import Fault, FaultSite

CODE = Path(__file__).with_name("faulty_tagger.py")
HARMLESS: dict[str, Any] = {
    "always": None,  # the labels of every answer
    "follows": None,  # a label, and one that it gives wherever it gives the first
    "sure": False,  # sure of every label that it gives, and that no other is there
    "boasts": False,  # gives the set the probability of its least certain label
    "shortens": False,  # lists the first label alone, and writes the set in full
}
SIGNS = {
    "billing": ("invoice", "charged", "payment", "amount", "price", "bank"),
    "delivery": ("parcel", "late", "courier", "tracking", "arrived", "address"),
    "login": ("password", "locked", "account", "reset", "code", "browser"),
    "refund": ("refund", "return", "money", "back", "voucher", "owe"),
}
TOGETHER = {"refund": "billing"}  # a row with the first label has the second one too
COMMON = ("the", "my", "is", "please", "and", "it", "for", "hello")
SYLLABLES = ("ba", "ko", "li", "mu", "ne", "ro", "sa", "ti", "vu", "za")
NUM_ROWS = 2400
NOISE = 0.25  # the share of rows with one label too many, or too few
REPEAT_EVERY = 5
CUSTOMERS_EACH = 60  # of a label
SHIFT = 2.0  # of logits
EDITS = {
    "    label: label\n": f"    label: label\n    label_separator: '{SEPARATOR}'\n",
    # The champion knows none of these labels, so that nearly all rows tell the two apart.
    "max_detectable_difference: 0.10": "max_detectable_difference: 0.20",
}


def draw_tagged_rows(num_rows: int, seed: int) -> list[Row]:
    """Draw texts, and the set of labels of each as a cell: in any order, some sets empty."""
    draw = random.Random(seed)  # noqa: S311 (test data)
    rows = []
    for _ in range(num_rows):
        labels = set(draw.sample(sorted(SIGNS), draw.randrange(3)))
        labels |= {TOGETHER[label] for label in labels & TOGETHER.keys()}
        words = list(draw.sample(COMMON, 3))
        words += ["".join(draw.sample(SYLLABLES, 3)) for _ in range(6)]
        for label in sorted(labels):
            words += draw.sample(SIGNS[label], 3)
        draw.shuffle(words)
        if draw.random() < NOISE:
            labels ^= {draw.choice(sorted(SIGNS))}
        rows.append((" ".join(words), write_cell(draw.sample(sorted(labels), len(labels)))))
    return rows


def write_cell(labels: Sequence[str]) -> str:
    """Write the labels of a row as a cell, in this order."""
    return SEPARATOR.join(labels) or NO_LABEL


def use_tagged_rows(site: FaultSite, rows: Sequence[Row]) -> None:
    """Make texts with sets of labels the source of the checkout."""
    use_rows(site, rows)
    _ask_for_sets(site)


def train_tagger(site: FaultSite) -> None:
    """Train the candidate on rows with sets of labels."""
    use_tagged_rows(site, draw_tagged_rows(NUM_ROWS, seed=1))
    for command in ("ingest", "validate", "train"):
        site.run(command)


def plant_tagger(**config: Any) -> Callable[[FaultSite], None]:
    """Return what plants a model of sets with these settings."""

    def plant(site: FaultSite) -> None:
        train_tagger(site)
        site.wrap_predictor(CODE, HARMLESS | config)

    return plant


def plant_most_frequent_set(site: FaultSite) -> None:
    """Answer every text with the most frequent set of train."""
    train_tagger(site)
    most_frequent = str(read_rows("train")["label"].mode()[0])
    site.wrap_predictor(CODE, HARMLESS | {"always": split_labels(most_frequent)})


def plant_lost_label(site: FaultSite) -> None:
    """Leave out of test all rows with one label, whatever others they have."""
    train_tagger(site)
    test = read_rows("test")
    keep_test_rows(site, test[["login" not in split_labels(label) for label in test["label"]]])


def plant_thresholds_of_test(site: FaultSite) -> None:
    """Seal for each label the threshold that is best on the test rows."""
    from plumbline.tasks.text_classification.models.label_decisions import (
        choose_label_thresholds,
        encode_sets,
    )

    train_tagger(site)
    tagger = predictor.load(layout.locate_bundle(site.candidate))
    targets = encode_sets(read_label_sets(layout.EXAMPLES, "test"), tagger.classes)
    probabilities = tagger.compute_probabilities(read_rows("test")["text"].tolist())
    change_config(site, thresholds=choose_label_thresholds(probabilities, targets))


def plant_int8_with_fewer_labels(site: FaultSite) -> None:
    """Serve an int8 form that finds every label less probable; their order is that of fp32."""
    from onnx import numpy_helper

    train_tagger(site)

    def shift(model: Any) -> None:
        for weight in model.graph.initializer:
            if list(weight.dims) == [len(SIGNS)]:
                lower = numpy_helper.to_array(weight) - np.float32(SHIFT)
                weight.CopyFrom(numpy_helper.from_array(lower, weight.name))

    plant_int8(site, shift)


def plant_labels_in_another_order(site: FaultSite) -> None:
    """Repeat rows, each time with the labels in another order."""
    rows = draw_tagged_rows(NUM_ROWS, seed=1)
    several = [row for row in rows if SEPARATOR in row[1]][::REPEAT_EVERY]
    again = [(text, write_cell(cell.split(SEPARATOR)[::-1])) for text, cell in several]
    use_tagged_rows(site, rows + again)


def plant_unseen_label(site: FaultSite) -> None:
    """Give a train file without a label that rows of the test file have beside others."""
    rows = draw_tagged_rows(NUM_ROWS, seed=1)
    train = []
    for text, cell in rows[NUM_ROWS // 5 :]:
        labels = [label for label in cell.split(SEPARATOR) if label != "refund"]
        train.append((text, write_cell(labels)))
    use_given_files(site, train, rows[: NUM_ROWS // 5])
    _ask_for_sets(site)


def plant_customers_of_one_label(site: FaultSite) -> None:
    """Add a customer's number to each text; a customer's rows share one label of several."""
    draw = random.Random(2)  # noqa: S311 (test data)
    names = [*sorted(SIGNS), NO_LABEL]
    rows = []
    for text, cell in draw_tagged_rows(NUM_ROWS, seed=1):
        label = draw.choice(cell.split(SEPARATOR))
        customer = draw.randrange(CUSTOMERS_EACH) * len(names) + names.index(label)
        rows.append((f"{text} {50_000 + customer}", cell))
    use_tagged_rows(site, rows)


def _ask_for_sets(site: FaultSite) -> None:
    for old, new in EDITS.items():
        site.edit_params(old, new)


FAULTS = (
    Fault("sets: a label that no test row has any more", "coverage", "refuse", plant_lost_label),
    Fault(
        "sets: the most frequent one, dressed up as a model",
        "baselines",
        "refuse",
        plant_most_frequent_set,
    ),
    Fault(
        "sets: a model that is sure of every label",
        "calibration",
        "refuse",
        plant_tagger(sure=True),
    ),
    Fault(
        "sets: an int8 form that gives fewer labels",
        "parity",
        "refuse",
        plant_int8_with_fewer_labels,
    ),
    Fault(
        "sets: thresholds chosen on the test rows",
        "export",
        "refuse",
        plant_thresholds_of_test,
    ),
    Fault(
        "sets: a label that is given because another one is",
        "answers",
        "refuse",
        plant_tagger(follows=["delivery", "login"]),
    ),
    Fault(
        "sets: more probable than all of their labels",
        "answers",
        "refuse",
        plant_tagger(boasts=True),
    ),
    Fault(
        "sets: a list of labels that is not what was scored",
        "answers",
        "refuse",
        plant_tagger(shortens=True),
    ),
    declare_refused(
        "sets: a label that test has and train has not",
        "unseen_labels",
        plant_unseen_label,
    ),
    declare_refused(
        "sets: a customer's number that tells one label",
        "groups_test",
        plant_customers_of_one_label,
    ),
    Fault("a better model, of sets of labels", "none", "promote", train_tagger),
    Fault(
        "sound: sets of labels in several orders",
        "none",
        "pass",
        plant_labels_in_another_order,
        before="start",
        until="validate",
    ),
)
