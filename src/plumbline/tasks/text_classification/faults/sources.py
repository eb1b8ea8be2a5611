"""Sound data of other kinds than the fixture's, and files that are none, in place of its source."""

import csv
import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from plumbline.tables.records import ReadRequest, WantedColumn
from plumbline.tasks.text_classification.data.generated import build_generated_part
from plumbline.tasks.text_classification.data.label_sets import NO_LABEL, SEPARATOR
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
SIGNS = {
    "billing": ("invoice", "charged", "payment", "amount", "price", "bank"),
    "delivery": ("parcel", "late", "courier", "tracking", "arrived", "address"),
    "login": ("password", "locked", "account", "reset", "code", "browser"),
    "refund": ("refund", "return", "money", "back", "voucher", "owe"),
}
TOGETHER = {"refund": "billing"}  # a row with the first label has the second one too
COMMON = ("the", "my", "is", "please", "and", "it", "for", "hello")
SYLLABLES = ("ba", "ko", "li", "mu", "ne", "ro", "sa", "ti", "vu", "za")
NUM_SETS = 2400
NOISE = 0.25  # the share of rows with one label too many, or too few

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


def draw_sets() -> list[Row]:
    """Draw texts, and the set of labels of each as a cell: in any order, some sets empty."""
    draw = random.Random(1)  # noqa: S311 (test data)
    rows = []
    for _ in range(NUM_SETS):
        labels = set(draw.sample(sorted(SIGNS), draw.randrange(3)))
        labels |= {TOGETHER[label] for label in labels & TOGETHER.keys()}
        words = list(draw.sample(COMMON, 3))
        words += ["".join(draw.sample(SYLLABLES, 3)) for _ in range(6)]
        for label in sorted(labels):
            words += draw.sample(SIGNS[label], 3)
        draw.shuffle(words)
        if draw.random() < NOISE:
            labels ^= {draw.choice(sorted(SIGNS))}
        cell = SEPARATOR.join(draw.sample(sorted(labels), len(labels))) or NO_LABEL
        rows.append((" ".join(words), cell))
    return rows


def plant_sets(site: FaultSite) -> None:
    """Make texts with sets of labels the source; the champion gives each row one label."""
    _write_rows(SOURCE, draw_sets())
    _use_source(site, str(SOURCE))
    site.edit_params(
        "    label: label\n", f"    label: label\n    label_separator: '{SEPARATOR}'\n"
    )
    # The champion knows none of these labels, so that nearly all rows tell the two apart.
    site.edit_params("max_detectable_difference: 0.10", "max_detectable_difference: 0.20")


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
    Fault("sound: sets of labels", "none", "promote", plant_sets, before="ingest"),
    Fault(
        "sound: 180 classes of 20 rows",
        "none",
        "pass",
        plant_rows(make_many_small_classes),
        before="start",
        until="validate",
    ),
)
