"""Faulty splits of texts; validation is made to accept them."""

from collections.abc import Callable

from plumbline.tasks.text_classification.faults.examples import (
    add_copies,
    answer_rows,
    keep_test_rows,
    read_rows,
    renew_manifest,
    seal_source,
    write_rows,
)
from plumbline_selftest.protocol import FaultSite

COPY_EVERY = 10
ROWS_PER_LABEL = 2
DROP_EVERY = 5
# Cyrillic letters that look as Latin ones: the texts read the same, and models read other tokens.
LOOK_ALIKES = str.maketrans("aeopc", "\u0430\u0435\u043e\u0440\u0441")


def plant_copies_in_train(change: Callable[[str], str]) -> Callable[[FaultSite], None]:
    """Return what puts a tenth of the test texts, each changed, into train, and trains on them."""

    def plant(site: FaultSite) -> None:
        leaked = read_rows("test").iloc[::COPY_EVERY]
        add_copies(site, "train", leaked.assign(text=leaked["text"].map(change)))
        site.retrain()

    return plant


def plant_own_answers(site: FaultSite) -> None:
    """Replace the labels of test by what the model answers, in the manifest too."""
    test = read_rows("test")
    write_rows("test", test.assign(label=answer_rows(site, test)))
    renew_manifest()


def plant_exchanged_labels(site: FaultSite) -> None:
    """Exchange two classes among the rows of train, and seal the source again."""
    train = read_rows("train")
    one, other = sorted(set(train["label"]))[:2]
    write_rows("train", train.assign(label=train["label"].replace({one: other, other: one})))
    seal_source()


def plant_exchanged_texts(site: FaultSite) -> None:
    """Exchange texts among the rows of test; validation is made to accept it."""
    test = read_rows("test")
    write_rows("test", test.assign(text=test["text"].to_numpy()[::-1]))
    site.accept_data()


def plant_one_class(site: FaultSite) -> None:
    """Keep one class in test."""
    test = read_rows("test")
    keep_test_rows(site, test[test["label"] == test["label"].iloc[0]])


def plant_few_rows(site: FaultSite) -> None:
    """Keep two rows of each class in test."""
    keep_test_rows(site, read_rows("test").groupby("label").head(ROWS_PER_LABEL))
    site.edit_params("min_slice_rows: 30", f"min_slice_rows: {ROWS_PER_LABEL}")


def plant_dropped_rows(site: FaultSite) -> None:
    """Drop every fifth row of test, whatever the candidate answers."""
    test = read_rows("test")
    keep_test_rows(site, test[test.index % DROP_EVERY > 0])
    site.edit_params("max_test_changes: 1.0", "max_test_changes: 0.1")


def plant_look_alikes(site: FaultSite) -> None:
    """Write the texts of test in letters that look alike."""
    test = read_rows("test")
    keep_test_rows(site, test.assign(text=test["text"].str.translate(LOOK_ALIKES)))
    site.edit_params("max_test_changes: 1.0", "max_test_changes: 0.1")


def plant_exchanged_groups(site: FaultSite) -> None:
    """Exchange the channels of test, so that a group that is harmed is another one."""
    test = read_rows("test")
    keep_test_rows(site, test.assign(channel=test["channel"].to_numpy()[::-1]))
    site.edit_params("max_test_changes: 1.0", "max_test_changes: 0.1")
