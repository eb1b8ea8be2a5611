"""Row groups have so many rows, however the rows come, and end early where rows are long."""

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.tables import parquet_batches
from plumbline.tables.parquet_batches import BatchWriter

SCHEMA = pa.schema([("text", pa.string())])
ROWS = 5


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(0, 30), cuts=st.lists(st.integers(0, 30), max_size=5))
def test_any_cut_gives_the_same_file(
    size: int, cuts: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_batches, "BATCH_ROWS", ROWS)
    texts = [f"text {number}" for number in range(size)]
    whole = write_texts(tmp_path / "whole.parquet", [texts])
    places = [0, *sorted(min(cut, size) for cut in cuts), size]
    parts = [texts[start:end] for start, end in itertools.pairwise(places)]
    assert write_texts(tmp_path / "rows.parquet", parts).read_bytes() == whole.read_bytes()
    with pq.ParquetFile(whole) as file:
        assert file.read()["text"].to_pylist() == texts
        groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert groups == [*[ROWS] * (size // ROWS), size % ROWS]


def test_long_rows_end_a_row_group_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_batches, "BATCH_BYTES", 1000)
    path = write_texts(tmp_path / "rows.parquet", [["a" * 400]] * 8)
    assert pq.read_metadata(path).num_row_groups == 3


def write_texts(path: Path, batches: list[list[str]]) -> Path:
    with BatchWriter(path, SCHEMA) as writer:
        for texts in batches:
            writer.add(pa.record_batch([pa.array(texts, pa.string())], schema=SCHEMA))
    return path
