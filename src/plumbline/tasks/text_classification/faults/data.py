"""Faulty splits of texts; validation is made to accept those that are planted after it."""

import random
from collections.abc import Callable

import pandas as pd

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.task import SPLITS
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data import read_split
from plumbline_selftest.protocol import Fault, FaultSite

COPY = "copy:"  # before the id of a row that is there twice
COPY_EVERY = 10
ROWS_PER_LABEL = 2
DROP_EVERY = 5
CUSTOMERS_EACH = 40  # of a label
# Which do not follow from the examples; only generated ones say which labels are not true.
FLAGS = ("decoded", "truncated", "noisy")


def plant_copies_in_train(change: Callable[[str], str]) -> Callable[[FaultSite], None]:
    """Return what puts a tenth of the test texts, each changed, into train."""

    def plant(site: FaultSite) -> None:
        leaked = read_rows("test").iloc[::COPY_EVERY]
        copies = leaked.assign(id=COPY + leaked["id"], text=leaked["text"].map(change))
        _write_rows("train", pd.concat([read_rows("train"), copies]))
        _accept_rows(site)

    return plant


def exchange_word(text: str) -> str:
    """Exchange the longest word for another one."""
    words = text.split()
    words[words.index(max(words, key=len))] = "thing"
    return " ".join(words)


def plant_own_answers(site: FaultSite) -> None:
    """Replace the labels of test by what the model answers, in the manifest too."""
    test = read_rows("test")
    _write_rows("test", test.assign(label=_answer_rows(site, test)))
    _renew_manifest(site)


def plant_exchanged_labels(site: FaultSite) -> None:
    """Exchange two classes among the rows of train, and seal the source again."""
    train = read_rows("train")
    one, other = sorted(set(train["label"]))[:2]
    _write_rows("train", train.assign(label=train["label"].replace({one: other, other: one})))
    _seal_source()


def plant_one_class(site: FaultSite) -> None:
    """Keep one class in test."""
    test = read_rows("test")
    _keep_test_rows(site, test[test["label"] == test["label"].iloc[0]])


def plant_few_rows(site: FaultSite) -> None:
    """Keep two rows of each class in test."""
    _keep_test_rows(site, read_rows("test").groupby("label").head(ROWS_PER_LABEL))
    site.edit_params("min_slice_rows: 30", f"min_slice_rows: {ROWS_PER_LABEL}")


def plant_dropped_rows(site: FaultSite) -> None:
    """Drop every fifth row of test, whatever the candidate answers."""
    test = read_rows("test")
    _keep_test_rows(site, test[test.index % DROP_EVERY > 0])
    site.edit_params("max_test_changes: 1.0", "max_test_changes: 0.1")


def plant_easy_rows(site: FaultSite) -> None:
    """Keep the test rows that the candidate answers rightly."""
    test = read_rows("test")
    _keep_test_rows(site, test[test["label"] == _answer_rows(site, test)])


def plant_customers(site: FaultSite) -> None:
    """Add a customer's number to each text; a customer always has the same label."""
    labels = sorted(set(read_rows("train")["label"]))
    for split in SPLITS:
        rows = read_rows(split)
        draw = random.Random(split)  # noqa: S311 - no secrets
        numbers = []
        for label in rows["label"]:
            customer = draw.randrange(CUSTOMERS_EACH) * len(labels) + labels.index(label)
            numbers.append(f" {50_000 + customer}")
        _write_rows(split, rows.assign(text=rows["text"] + numbers))
    _renew_manifest(site)
    _seal_source()


def plant_fitted_on_held_out_rows(site: FaultSite) -> None:
    """Fit the candidate to validation and test as well; the data are as they were."""
    train = read_rows("train")
    _write_rows("train", pd.concat([train, read_rows("validation"), read_rows("test")]))
    site.accept_data()
    site.retrain()
    _write_rows("train", train)
    site.accept_data()


def read_rows(split: str) -> pd.DataFrame:
    """Read the examples of a split: columns id, text, label and metadata."""
    rows: pd.DataFrame = read_split(layout.EXAMPLES, split).to_pandas()
    return rows


def _write_rows(split: str, rows: pd.DataFrame) -> None:
    """Replace the examples of a split; the manifest stays."""
    import pyarrow as pa

    write_split(layout.EXAMPLES, split, pa.Table.from_pandas(rows, preserve_index=False))


def _keep_test_rows(site: FaultSite, kept: pd.DataFrame) -> None:
    """Leave only `kept` in test and in its part of the manifest."""
    _write_rows("test", kept)
    _accept_rows(site)


def _accept_rows(site: FaultSite) -> None:
    """Derive the manifest from the examples as they are now, and make validation accept both."""
    _renew_manifest(site)
    site.accept_data()


def _renew_manifest(site: FaultSite) -> None:
    """Derive the manifest from the examples as they are now; flags are those that each row had."""
    before = pd.read_parquet(layout.MANIFEST).set_index("id")
    site.renew_manifest()
    rows = pd.read_parquet(layout.MANIFEST)
    origins = rows["id"].str.removeprefix(COPY)
    for flag in before.columns.intersection(list(FLAGS)):
        rows[flag] = before[flag].reindex(origins).to_numpy()
    rows.to_parquet(layout.MANIFEST, index=False)


def _seal_source() -> None:
    """Write the digests of examples and manifest as they are now into source.json."""
    seal = {"digest": digest_path(layout.EXAMPLES), "manifest": digest_path(layout.MANIFEST)}
    write_json(layout.SOURCE, read_json(layout.SOURCE) | seal)


def _answer_rows(site: FaultSite, rows: pd.DataFrame) -> list[str]:
    """Return the label that the candidate gives to each of `rows`."""
    predictor = bundle.load(layout.locate_bundle(site.candidate))
    labels: list[str] = predictor.predict({"text": rows["text"].tolist()})["label"]
    return labels


FAULTS = (
    Fault("test labels replaced by the model's answers", "accepted", "refuse", plant_own_answers),
    Fault("a test split of one class", "coverage", "refuse", plant_one_class),
    Fault(
        "test rows nearly copied into train",
        "leakage",
        "refuse",
        plant_copies_in_train(lambda text: f"{text.upper()} !!"),
    ),
    Fault(
        "test rows in train, with a word exchanged",
        "leakage",
        "refuse",
        plant_copies_in_train(exchange_word),
    ),
    Fault("hard test rows left out", "consistency", "refuse", plant_easy_rows),
    Fault(
        "a model fitted on validation and test alike",
        "bounds",
        "refuse",
        plant_fitted_on_held_out_rows,
    ),
    Fault("a fifth of the test rows left out", "test_split", "refuse", plant_dropped_rows),
    Fault("a test split too small to tell", "power", "refuse", plant_few_rows),
    Fault(
        "labels of train exchanged, the manifest kept",
        "in data/manifest.parquet",
        "error",
        plant_exchanged_labels,
        before="validate",
    ),
    Fault(
        "a customer's number in every text, seen before training",
        "groups_test",
        "error",
        plant_customers,
        before="validate",
        until="validate",
    ),
)
