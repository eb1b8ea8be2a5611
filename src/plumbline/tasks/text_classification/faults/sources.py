"""Sound data of other kinds than the fixture's, and files that are none, in place of its source."""

import csv
import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from plumbline.sources.records import ReadRequest, WantedColumn
from plumbline.tasks.text_classification.data.generated import build_generated_part
from plumbline_selftest.protocol import Fault, FaultSite

SOURCE = Path("data/raw/own.csv")
NUM_ROWS = 3600
SEED = 5
COLUMNS = (WantedColumn("text", "data.columns.text"), WantedColumn("label", "data.columns.label"))
COLOURS = ("red", "blue", "green", "black", "white", "grey", "pink", "brown", "gold", "beige")
ROOMS = (
    "attic", "bath", "cellar", "den", "entry", "foyer", "garage", "hall", "kitchen", "lobby",
    "larder", "nursery", "office", "pantry", "porch", "sauna", "studio", "vault",
)  # fmt: skip
PRIZE = ("claim your prize now", "you have won a free voucher", "reply to win cash")

Row = tuple[str, str]  # text and label


def draw_tickets(site: FaultSite) -> list[Row]:
    """Draw the fixture's tickets: texts and labels."""
    part = build_generated_part(site.params)  # type: ignore[arg-type]  # this task's params
    rows = itertools.islice(part.read_rows(ReadRequest(COLUMNS, refuse_encoding=False)), NUM_ROWS)
    return [(str(row.values[0]), str(row.values[1])) for row in rows]


def make_one_class_rare(rows: Sequence[Row]) -> list[Row]:
    """Leave 2 % of one class, which few words tell."""
    draw = random.Random(SEED)  # noqa: S311 (test data)
    mixed = []
    for row, (text, _) in enumerate(rows):
        if row % 50:
            mixed.append((text, "ham"))
        else:
            mixed.append((f"{draw.choice(PRIZE)} {draw.randrange(10**6)}, {text[:40]}", "spam"))
    return mixed


def make_many_small_classes(rows: Sequence[Row]) -> list[Row]:
    """Divide the rows into 180 classes of twenty, each with a pair of words of its own."""
    divided = []
    for row, (text, _) in enumerate(rows):
        label = f"{COLOURS[row % 10]} {ROOMS[row // 10 % 18]}"
        divided.append((f"{text} {label}", label))
    return divided


def plant_rows(change: Callable[[Sequence[Row]], list[Row]]) -> Callable[[FaultSite], None]:
    """Return what makes changed tickets the source of the checkout."""

    def plant(site: FaultSite) -> None:
        _write_rows(SOURCE, change(draw_tickets(site)))
        _use_source(site, str(SOURCE))

    return plant


def plant_sets(site: FaultSite) -> None:
    """Generate tickets about up to three matters, each with a set of labels."""
    site.edit_params("    label: label\n", "    label: label\n    label_separator: '|'\n")
    site.edit_params("drift: 0.0}", "drift: 0.0, max_labels: 3}")


def plant_a_test_file_without_a_class(site: FaultSite) -> None:
    """Give a test file that lacks one of the classes; validation rows are taken from train."""
    rows = draw_tickets(site)
    train, test = SOURCE.with_name("train.csv"), SOURCE.with_name("test.csv")
    _write_rows(train, [row for row in rows if row not in rows[::6]])
    _write_rows(test, [row for row in rows[::6] if row[1] != rows[0][1]])
    _use_source(site, f"{{train: {train}, validation: null, test: {test}}}")


def plant_cut_file(site: FaultSite) -> None:
    """Give a file whose last row ends in the middle of a text."""
    SOURCE.write_text("text,label\nwhere is my parcel,delivery\nmy pass", encoding="utf-8")
    _use_source(site, str(SOURCE))


def _use_source(site: FaultSite, source: str) -> None:
    site.edit_params("source: generated", f"source: {source}")
    site.edit_params("metadata: [channel, product, variant, day]", "metadata: []")
    site.edit_params("slices: [channel, product, variant]", "slices: []")


def _write_rows(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        writer.writerows(rows)


FAULTS: tuple[Fault, ...] = (
    Fault(
        "a test file without a class",
        "absent_labels_test",
        "error",
        plant_a_test_file_without_a_class,
        before="start",
        until="validate",
    ),
    Fault(
        "a file that is cut off in its last row",
        "the file is cut off in this row",
        "error",
        plant_cut_file,
        before="start",
        until="validate",
    ),
    Fault(
        "sound: a class that has 98 % of the rows",
        "none",
        "promote",
        plant_rows(make_one_class_rare),
        before="start",
    ),
    Fault("sound: sets of labels", "none", "promote", plant_sets, before="start"),
    Fault(
        "sound: 180 classes of 20 rows",
        "none",
        "pass",
        plant_rows(make_many_small_classes),
        before="start",
        until="validate",
    ),
)
