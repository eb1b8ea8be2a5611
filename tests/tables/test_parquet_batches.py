"""Row groups end where their rows say, however the rows come."""

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.tables import parquet_batches
from plumbline.tables.parquet_batches import BatchWriter

SCHEMA = pa.schema([("text", pa.string())])
ROWS, CHARS = 5, 12


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(alphabet="ab", max_size=15), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=5),
)
def test_any_cut_gives_the_row_groups_of_one_row_after_another(
    texts: list[str], cuts: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_batches, "BATCH_ROWS", ROWS)
    monkeypatch.setattr(parquet_batches, "BATCH_CHARS", CHARS)
    path = tmp_path / "rows.parquet"
    places = [0, *sorted(cuts), len(texts)]
    with BatchWriter(path, SCHEMA) as writer:
        for start, end in itertools.pairwise(places):
            own = texts[start:end]
            sizes = np.array([len(text) for text in own], np.int64)
            writer.add(pa.record_batch([pa.array(own, pa.string())], schema=SCHEMA), sizes)
    with pq.ParquetFile(path) as file:
        assert file.read()["text"].to_pylist() == texts
        groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert groups == count_rows(texts)


def count_rows(texts: list[str]) -> list[int]:
    """Return how many rows each row group has; the last one takes what is left, or nothing."""
    groups = [0]
    size = 0
    for text in texts:
        groups[-1] += 1
        size += len(text)
        if groups[-1] == ROWS or size >= CHARS:
            groups.append(0)
            size = 0
    return groups
