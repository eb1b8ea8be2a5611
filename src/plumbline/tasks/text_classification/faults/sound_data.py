"""Sound data of other kinds than the fixture's, which must not be refused; and files that are none.

Each plant writes a source into a checkout without data, and names it in params.yaml.
"""

import csv
import itertools
import json
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
# Signs that say nothing of a class, and phrases that do.
CHINESE = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年"
)
CHINESE_PHRASES = {
    "refund": ("退款", "退回金额", "收费错误"),
    "login": ("登录", "忘记密码", "账户锁定"),
    "delivery": ("包裹", "快递", "还没送达"),
    "order": ("取消订单", "修改数量", "下单"),
}
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


def name_a_class_none(rows: Sequence[Row]) -> list[Row]:
    """Call one of the classes by a word that can also mean a missing value."""
    name = rows[0][1]
    return [(text, "none" if label == name else label) for text, label in rows]


def number_classes_in_several_ways(rows: Sequence[Row]) -> list[Row]:
    """Write labels as 3, 3.0 and 3 with blanks around it, as exports of spreadsheets do."""
    numbers = {label: number for number, label in enumerate(sorted({label for _, label in rows}))}
    ways = ("{}", "{}.0", " {} ")
    spelled = []
    for row, (text, label) in enumerate(rows):
        spelled.append((text, ways[row % len(ways)].format(numbers[label])))
    return spelled


def write_in_chinese(rows: Sequence[Row]) -> list[Row]:
    """Write texts without blanks, with a phrase of their class among common signs."""
    draw = random.Random(SEED)  # noqa: S311 (test data)
    written = []
    for row in range(len(rows)):
        label = list(CHINESE_PHRASES)[row % len(CHINESE_PHRASES)]
        start = "".join(draw.choices(CHINESE, k=draw.randrange(4, 12)))
        end = "".join(draw.choices(CHINESE, k=draw.randrange(8, 16)))
        written.append((start + draw.choice(CHINESE_PHRASES[label]) + end, label))
    return written


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
        colour = COLOURS[row % len(COLOURS)]
        room = ROOMS[row // len(COLOURS) % len(ROOMS)]
        divided.append((f"{text} {colour} {room}", f"{colour} {room}"))
    return divided


def fill_templates(rows: Sequence[Row], seed: int = SEED) -> list[Row]:
    """Join one of forty openings, one of forty requests and two numbers, each row by itself.

    Many texts then share most of what they say, within a split as across splits.
    """
    draw = random.Random(seed)  # noqa: S311 (test data)
    words = [
        "".join(draw.choices("abcdefghiklmnoprstu", k=draw.randrange(4, 10))) for _ in range(400)
    ]
    sentences = [" ".join(draw.choices(words, k=6)) for _ in range(80)]
    filled = []
    for _ in rows:
        opening = draw.randrange(40)
        text = f"{sentences[opening]} {draw.randrange(1000)} {draw.choice(sentences[40:])}"
        filled.append((f"{text} {draw.randrange(1000)}", f"subject {opening % 4}"))
    return filled


def plant_rows(change: Callable[[Sequence[Row]], list[Row]]) -> Callable[[FaultSite], None]:
    """Return what makes changed tickets the source of the checkout."""

    return lambda site: use_rows(site, change(draw_tickets(site)))


def use_rows(site: FaultSite, rows: Iterable[Row]) -> None:
    """Make `rows` the source of the checkout."""
    _write_rows(SOURCE, rows)
    _use_source(site, str(SOURCE))


def plant_copies_to_drop(site: FaultSite) -> None:
    """Give a test file whose texts are also in the train file, and drop these from train."""
    rows = draw_tickets(site)
    test = rows[::6]
    others = [row for row in rows if row not in test]
    use_given_files(site, [*others, *test[::4]], test)
    site.edit_params("leakage: keep", "leakage: drop")


def plant_a_test_file_without_a_class(site: FaultSite) -> None:
    """Give a test file that lacks one of the classes."""
    rows = draw_tickets(site)
    test = [row for row in rows[::6] if row[1] != rows[0][1]]
    use_given_files(site, [row for row in rows if row not in rows[::6]], test)


def plant_text(content: str) -> Callable[[FaultSite], None]:
    """Return what makes `content` the source, named as CSV."""

    def plant(site: FaultSite) -> None:
        SOURCE.write_text(content, encoding="utf-8")
        _use_source(site, str(SOURCE))

    return plant


def use_given_files(site: FaultSite, train: Iterable[Row], test: Iterable[Row]) -> None:
    """Make two files the source of the checkout; validation rows are taken from train."""
    _write_rows(SOURCE.with_name("train.csv"), train)
    _write_rows(SOURCE.with_name("test.csv"), test)
    sources = (
        f"{{train: {SOURCE.parent}/train.csv, validation: null, test: {SOURCE.parent}/test.csv}}"
    )
    _use_source(site, sources)


def _use_source(site: FaultSite, source: str) -> None:
    site.edit_params("source: generated", f"source: {source}")
    site.edit_params("metadata: [channel, product, variant, day]", "metadata: []")
    site.edit_params("slices: [channel, product, variant]", "slices: []")


def _write_rows(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        writer.writerows(rows)


def _declare_sound(name: str, change: Callable[[Sequence[Row]], list[Row]]) -> Fault:
    return Fault(name, "none", "promote", plant_rows(change), before="start")


def declare_refused(name: str, message: str, plant: Callable[[FaultSite], None]) -> Fault:
    """Declare a source that must end in an error with this message, before training."""
    return Fault(name, message, "error", plant, before="start", until="validate")


FAULTS: tuple[Fault, ...] = (
    _declare_sound("sound: a class that is called none", name_a_class_none),
    _declare_sound("sound: classes 3, 3.0 and ' 3 ' are one", number_classes_in_several_ways),
    _declare_sound("sound: texts without blanks between words", write_in_chinese),
    _declare_sound("sound: a class that has 98 % of the rows", make_one_class_rare),
    Fault(
        "sound: 180 classes of 20 rows",
        "none",
        "pass",
        plant_rows(make_many_small_classes),
        before="start",
        until="validate",
    ),
    Fault(
        "sound: texts of templates, independent of each other",
        "none",
        "pass",
        plant_rows(fill_templates),
        before="start",
        until="validate",
    ),
    Fault(
        "sound: test rows that are in the train file, dropped from it",
        "none",
        "pass",
        plant_copies_to_drop,
        before="start",
        until="validate",
    ),
    declare_refused(
        "a test file without a class", "absent_labels_test", plant_a_test_file_without_a_class
    ),
    declare_refused("an HTML page that is named .csv", "an HTML page", plant_text("<html><body>")),
    declare_refused(
        "JSON lines that are named .csv",
        "name it .jsonl",
        plant_text(json.dumps({"text": "where is it", "label": "order"}) + "\n"),
    ),
    declare_refused(
        "a file that is cut off in its last row",
        "the file is cut off in this row",
        plant_text("text,label\nwhere is my parcel,delivery\nmy pass"),
    ),
)
