"""A Parquet file in batches: none is larger than what its writer held at once."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plumbline.tables.parquet_batches import read_row_groups


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three row groups, of 3, 0 and 5 rows."""
    with pq.ParquetWriter(tmp_path / "a.parquet", pa.schema({"id": pa.int64()})) as writer:
        for rows in (range(3), [], range(3, 8)):
            writer.write_batch(pa.record_batch({"id": pa.array(rows, pa.int64())}))
    return tmp_path / "a.parquet"


@pytest.mark.parametrize(("max_rows", "expected"), [(8192, [3, 5]), (2, [2, 1, 2, 2, 1])])
def test_no_batch_has_rows_of_two_row_groups(
    path: Path, max_rows: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plumbline.tables.parquet_batches.BATCH_ROWS", max_rows)
    batches = list(read_row_groups(path, ["id", "no_such"]))
    assert [batch.num_rows for batch in batches if batch.num_rows] == expected
    assert [row for batch in batches for row in batch["id"].to_pylist()] == list(range(8))
