"""What MLflow shows of a data set, of any number of rows."""

import json
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plumbline.contract import layout
from plumbline.process.files import digest_path
from plumbline.tracking.dataset_facts import describe_dataset

NUM_ROWS = {"train": 200_000, "validation": 30_000, "test": 70_000}


def test_rows_are_counted_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    layout.MANIFEST.parent.mkdir()
    splits = [split for split, rows in NUM_ROWS.items() for _ in range(rows)]
    table = pa.table({"split": splits, "length": range(len(splits))})
    pq.write_table(table, layout.MANIFEST, row_group_size=10_000)
    del splits, table
    tracemalloc.start()
    try:
        facts = describe_dataset("tickets", "ingest")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    counted = {f"num_{split}": rows for split, rows in NUM_ROWS.items()}
    profile = json.loads(facts["profile"])
    assert profile == {"num_rows": 300_000, "num_elements": 600_000} | counted
    assert facts["digest"] == digest_path(layout.MANIFEST)[:36]
    assert peak < 4e6  # bytes; the names of all splits at once would take 18 million
