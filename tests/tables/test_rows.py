"""Rows in a database: numbered over all batches, asked while they are read, gone at the end."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from tests.support.batches import store_table
from tests.support.tables import draw_table

from plumbline.tables.rows import StoredRows

IN_ORDER = 'SELECT * FROM rows ORDER BY "#row"'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_rows_are_read_in_their_order_while_others_are_asked(folder: Path) -> None:
    table = draw_table()
    rows = store_table(table)
    sizes = rows.query("SELECT split, count(*) AS size FROM rows GROUP BY split")
    assert dict(sizes.itertuples(index=False)) == table["split"].value_counts().to_dict()
    ids = []
    for batch in rows.read(IN_ORDER):
        first, last = batch["#row"][0].as_py(), batch["#row"][-1].as_py()
        between = rows.query('SELECT id FROM rows WHERE "#row" BETWEEN ? AND ?', first, last)
        assert set(between["id"]) == set(batch["id"].to_pylist())
        ids += batch["id"].to_pylist()
    assert ids == table["id"].tolist()
    assert len(list(folder.iterdir())) == 1
    del rows
    assert list(folder.iterdir()) == []


def test_rows_are_there_while_they_are_read(folder: Path) -> None:
    assert pa.Table.from_batches(store_table(draw_table()).read(IN_ORDER)).num_rows == 500
    assert list(folder.iterdir()) == []


def test_parts_are_read_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plumbline.tables.rows.READ_ROWS", 90)
    table = draw_table()
    asked = store_table(table).read_parts("SELECT id FROM rows WHERE split = ? AND {part}", "train")
    assert (
        pa.Table.from_batches(asked)["id"].to_pylist()
        == table["id"][table["split"] == "train"].tolist()
    )


def test_rows_that_cannot_be_computed_leave_no_file(folder: Path) -> None:
    def compute() -> Iterator[pa.RecordBatch]:
        yield from pa.Table.from_pandas(pd.DataFrame({"id": ["a"]})).to_batches()
        raise ValueError("row 2")

    with contextlib.suppress(ValueError):
        StoredRows(compute())
    assert list(folder.iterdir()) == []
