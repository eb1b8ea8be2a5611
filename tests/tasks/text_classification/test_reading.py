"""The source is read in pieces: whatever they are and whoever reads them, the data are the same."""

import random
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.dirty_texts import make_values
from tests.support.engines import BackwardEngine

from plumbline.contract.engine import Engine, LocalEngine, use_engine
from plumbline.contract.errors import DataError
from plumbline.process.files import digest_files, format_json
from plumbline.sources import shard_writer
from plumbline.tables import arrow_files
from plumbline.tasks.text_classification.data import generated, ingest, reading, survey
from plumbline.tasks.text_classification.params import TextParams

ENGINES = [LocalEngine, BackwardEngine]
LABELS = ["5", "5.0", " 5", "a", "a ", "b", "rare", "none", "N/A", ""]
WEIGHTS = [20, 10, 5, 60, 10, 60, 3, 12, 2, 2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: files with copies, nulls and labels of several spellings in each."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    Path("raw").mkdir()
    rows = []
    for name, num_rows in (("a", 120), ("b", 7), ("c", 90)):
        own = [_draw_row(draw, number) for number in range(num_rows)]
        write_csv(f"raw/{name}.csv", own)
        rows += own
    texts, labels, customers = zip(*rows, strict=True)
    table = pa.table({"text": texts, "label": labels, "customer": customers})
    pq.write_table(table, "raw/rows.parquet", row_group_size=13)
    with sqlite3.connect("rows.db") as database:
        database.execute("CREATE TABLE rows (text, label, customer)")
        database.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    database.close()
    return tmp_path


def _draw_row(draw: random.Random, number: int) -> tuple[str, str, str]:
    text = f"ticket {draw.randrange(60)}{draw.choice(['', '!', ' please'])}"
    text = draw.choices([text, "", "long " * 900, f"nul \0 {number}"], [90, 3, 1, 1])[0]
    return text, draw.choices(LABELS, WEIGHTS)[0], f"customer {draw.randrange(20)}"


def write_csv(path: str, rows: list[tuple[str, ...]]) -> None:
    lines = ["text,label,customer", *(",".join(row) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def make_params(source: Any, **data: Any) -> TextParams:
    values = make_values(source)
    values["data"]["generated"] |= {"num_rows": 400}
    for key, value in data.items():
        values["data"][key] |= value
    return TextParams.model_validate(values)


def run_ingest(params: TextParams, out: Path, engine: Engine) -> tuple[str, str]:
    """Return the digest of all files that were written, and the facts."""
    out.mkdir()
    with use_engine(engine):
        facts = ingest(params, out, out / "manifest.parquet")
    return digest_files(out), format_json(facts)


@pytest.mark.parametrize(
    ("source", "data"),
    [
        ("generated", {}),
        ("raw/*.csv", {}),
        ("raw/*.csv", {"split": {"by": "group", "column": "customer"}}),
        ("raw/rows.parquet", {"split": {"by": "group", "column": "label"}}),
        ("sqlite:///rows.db#SELECT text, label FROM rows ORDER BY rowid", {}),
        (
            {"train": "raw/rows.parquet", "validation": None, "test": "raw/b.csv"},
            {"policies": {"leakage": "drop"}},
        ),
    ],
    ids=["generated", "files", "groups", "row groups", "query", "given splits"],
)
def test_any_pieces_and_any_engine_give_the_same_bytes(
    source: Any, data: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_writer, "SHARD_ROWS", 50)
    params = make_params(source, **data)
    whole = run_ingest(params, folder / "whole", LocalEngine())
    monkeypatch.setattr(arrow_files, "PIECE_ROWS", 30)
    monkeypatch.setattr(generated, "PIECE_ROWS", 70)
    assert run_ingest(params, folder / "cut", LocalEngine()) == whole
    assert run_ingest(params, folder / "backward", BackwardEngine()) == whole
    monkeypatch.setattr(reading, "PIECES_AT_ONCE", 2)
    assert run_ingest(params, folder / "by twos", BackwardEngine()) == whole
    monkeypatch.setattr(reading, "MANY_PARTS", 1)
    assert run_ingest(params, folder / "uncut", BackwardEngine()) == whole


def test_more_pieces_than_files_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_files, "PIECE_ROWS", 30)
    engine = BackwardEngine()
    run_ingest(make_params("raw/*.[cp]*"), folder / "out", engine)
    assert engine.num_items == 3 + 6  # 217 rows in row groups of 13, of which three are a piece


@pytest.mark.parametrize(("source", "num_items"), [("raw/*.csv", 0), ("generated", 1)])
def test_executors_elsewhere_are_not_asked_for_files_of_this_machine(
    source: str, num_items: int, folder: Path
) -> None:
    engine = BackwardEngine(is_local=False)
    here = run_ingest(make_params(source), folder / "here", LocalEngine())
    assert run_ingest(make_params(source), folder / "there", engine) == here
    assert engine.num_items == num_items


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_fault_of_the_source_is_named(engine: type[Engine], folder: Path) -> None:
    write_csv("raw/b.csv", [("hi", "a", "c"), ("hi", "there", "a", "c")])
    Path("raw/c.csv").write_text("body,label,customer\nhi,a,c\n")
    with pytest.raises(DataError, match=r"^b\.csv:3: 4 cells where the header has 3"):
        run_ingest(make_params("raw/*.csv"), folder / "out", engine())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_without_rows_is_named_after_the_faults_of_earlier_files(
    engine: type[Engine], folder: Path
) -> None:
    write_csv("raw/b.csv", [])
    refuse = {"policies": {"nulls": "refuse"}}
    write_csv("raw/a.csv", [("hi", "a", "c"), ("ho", "N/A", "c")])
    with pytest.raises(DataError, match=r"^a\.csv:3: the label is null-like \('N/A'\)"):
        run_ingest(make_params("raw/[ab].csv", **refuse), folder / "one", engine())
    write_csv("raw/a.csv", [("hi", "a", "c")])
    with pytest.raises(DataError, match=r"^b\.csv: 0 rows below the header"):
        run_ingest(make_params("raw/[ab].csv", **refuse), folder / "two", engine())


@pytest.mark.parametrize("engine", ENGINES)
def test_the_row_with_too_many_labels_is_that_of_all_files_in_order(
    engine: type[Engine], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "MAX_CLASSES", 200)
    first = [(f"text {number}", f"label {number}", "c") for number in range(150)]
    second = [(f"text {number}", f"label {number}", "c") for number in range(50, 300)]
    write_csv("raw/a.csv", first)
    write_csv("raw/b.csv", [*second, ("a", "fault", "that", "follows")])
    message = r"^b\.csv:152: more than 200 different labels so far, such as 'label 200'"
    with pytest.raises(DataError, match=message):
        run_ingest(make_params("raw/*.csv"), folder / "out", engine())


@pytest.mark.parametrize("engine", ENGINES)
def test_exchanged_columns_are_counted_over_all_files(engine: type[Engine], folder: Path) -> None:
    for name, num_rows in (("a", 40), ("b", 30), ("c", 20)):
        rows = [(f"{number % 3}", f"{name} ticket {number}", "c") for number in range(num_rows)]
        write_csv(f"raw/{name}.csv", rows)
    message = "seem to be swapped: 90 rows have 3 different texts and 90 different labels, such as"
    with pytest.raises(DataError, match=f"{message} 'a ticket 0'"):
        run_ingest(make_params("raw/*.csv"), folder / "out", engine())


def test_pieces_after_a_fault_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PIECES_AT_ONCE", 1)
    write_csv("raw/b.csv", [("hi", "there", "a", "c")])
    engine = BackwardEngine()
    with pytest.raises(DataError, match=r"^b\.csv:2"):
        run_ingest(make_params("raw/*.csv"), folder / "out", engine)
    assert engine.num_items == 2


def test_rows_that_wait_leave_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    run_ingest(make_params("raw/*.csv"), folder / "one", LocalEngine())
    write_csv("raw/c.csv", [("hi", "there", "a", "c")])
    with pytest.raises(DataError, match=r"^c\.csv:2"):
        run_ingest(make_params("raw/*.csv"), folder / "two", LocalEngine())
    assert list((folder / "tmp").iterdir()) == []
