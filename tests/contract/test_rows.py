"""Rows in batches: whatever the cut, the three verbs say the same, as often as they are asked."""

import contextlib
import tempfile
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.support.batches import cut_table, join_batches
from tests.support.tables import draw_table

from plumbline.contract.manifest import Manifest
from plumbline.contract.rows import FIRST, ROW, read_rows, store_batches, store_rows

CUTS = [1, 7, 499, 500, 1000]


@pytest.mark.parametrize("num_rows", CUTS)
@pytest.mark.parametrize("part_rows", [0, 130])
def test_the_verbs_say_what_one_table_says(
    num_rows: int, part_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plumbline.contract.rows.PART_ROWS", part_rows)
    table = draw_table()
    rows = cut_table(table, num_rows)
    if part_rows:
        rows = store_batches(iter(rows))
        assert len(rows.parts) == {1: 4, 7: 4, 499: 2, 500: 1, 1000: 1}[num_rows]

    lengths = rows.fold(lambda batch: batch["length"].to_pylist(), lambda one, other: one + other)
    assert lengths == table["length"].tolist()

    is_long = rows.map(lambda batch: batch.filter(pc.greater(batch["length"], 20)))
    expected = table[table["length"] > 20]
    assert join_batches(is_long)["id"].tolist() == expected["id"].tolist()
    assert join_batches(is_long)[ROW].tolist() == expected.index.tolist()

    for keys in (["label"], ["split", "label"], ["label", "length"]):
        first = join_batches(is_long.find_first(keys))[FIRST]
        groups = expected.assign(number=expected.index).groupby(keys)["number"]
        assert first.tolist() == groups.transform("first").tolist()


def test_keys_are_not_joined_into_one_text() -> None:
    table = pd.DataFrame({"one": ["a", "ab", "a"], "other": ["bc", "c", "bc"]})
    assert join_batches(cut_table(table).find_first(["one", "other"]))[FIRST].tolist() == [0, 1, 0]


def test_stored_rows_are_read_by_several_at_once_and_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    table = draw_table()
    computed = []

    def count(batch: pa.RecordBatch) -> pa.RecordBatch:
        computed.append(batch.num_rows)
        return batch

    rows = store_rows(cut_table(table, 100).map(count))
    pairs = zip(rows, rows, strict=True)
    assert all(one.equals(other) for one, other in pairs)
    assert join_batches(rows)["id"].tolist() == table["id"].tolist()
    assert computed == [100] * 5
    assert len(list(tmp_path.iterdir())) == 1
    del rows, pairs
    assert list(tmp_path.iterdir()) == []


def test_stored_rows_are_there_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sizes = [batch.num_rows for batch in store_rows(cut_table(draw_table(), 100))]
    assert sizes == [100] * 5
    assert list(tmp_path.iterdir()) == []
    assert list(store_rows(read_rows(lambda: iter([])))) == []


def test_rows_that_cannot_be_computed_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def refuse(batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch[ROW][0].as_py():
            raise ValueError("row 100")
        return batch

    with contextlib.suppress(ValueError):
        store_rows(cut_table(draw_table(), 100).map(refuse))
    assert list(tmp_path.iterdir()) == []


def test_finding_first_rows_takes_as_much_memory_as_it_says() -> None:
    num_rows = 400_000
    numbers = np.arange(num_rows)
    batch = pa.record_batch({"key": numbers // 2, ROW: numbers})
    rows = read_rows(lambda: iter([batch.slice(at, 1000) for at in range(0, num_rows, 1000)]))
    rows.find_first(["key"])  # imports
    tracemalloc.start()
    kept = rows.find_first(["key"])
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert next(iter(kept))[FIRST][3].as_py() == 2
    assert now / num_rows < 9
    assert peak / num_rows < 35


def test_a_manifest_is_summarised_and_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plumbline.contract.row_groups.BATCH_ROWS", 60)
    table = draw_table()
    table.to_parquet(tmp_path / "m.parquet", index=False)
    manifest = Manifest(tmp_path / "m.parquet")
    summary = manifest.summarise()
    assert summary.lengths == Counter(table["length"])
    assert {split: summary.count_rows(split) for split in ("train", "test", "other")} == {
        "train": int((table["split"] == "train").sum()),
        "test": int((table["split"] == "test").sum()),
        "other": 0,
    }
    train = table.loc[table["split"] == "train", "label"]
    assert summary.count_labels("train") == Counter(train)
    in_train = table["split"] == "train"
    needed = table[~in_train | (in_train & ~table.duplicated(["split", "label"]))]
    held_out = manifest.read_held_out()
    assert held_out["id"].tolist() == needed["id"].tolist()
    kinds = ["split", "label"]
    pd.testing.assert_frame_equal(
        summary.list_held_out().sort_values(kinds, ignore_index=True),
        held_out[kinds].sort_values(kinds, ignore_index=True),
        check_dtype=False,
    )
