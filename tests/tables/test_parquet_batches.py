"""Row groups have so many rows, however the rows come, and are read one by one."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plumbline.tables import parquet_batches
from plumbline.tables.parquet_batches import BatchWriter, read_row_groups

SCHEMA = pa.schema([("text", pa.string())])
TEXTS = [f"text {number}" for number in range(12)]


def write_texts(path: Path, *batches: list[str]) -> Path:
    with BatchWriter(path, SCHEMA) as writer:
        for texts in batches:
            writer.add(pa.record_batch([pa.array(texts, pa.string())], schema=SCHEMA))
    return path


def test_any_cut_gives_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_batches, "BATCH_ROWS", 5)
    whole = write_texts(tmp_path / "whole.parquet", TEXTS)
    for number, cut in enumerate((0, 1, 5, 6, 12)):
        path = write_texts(tmp_path / f"{number}.parquet", TEXTS[:cut], [], TEXTS[cut:])
        assert path.read_bytes() == whole.read_bytes()
    metadata = pq.read_metadata(whole)
    assert [metadata.row_group(group).num_rows for group in range(3)] == [5, 5, 2]
    assert pq.read_table(whole)["text"].to_pylist() == TEXTS
    assert pq.read_metadata(write_texts(tmp_path / "empty.parquet")).num_rows == 0


def test_long_rows_end_a_row_group_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_batches, "BATCH_BYTES", 1000)
    path = write_texts(tmp_path / "rows.parquet", *[["a" * 400]] * 8)
    batches = list(read_row_groups(path, ["text", "no_such"]))
    assert [batch.num_rows for batch in batches] == [3, 3, 2]
