"""A manifest on disk: counted in one reading, and read in part."""

from collections import Counter
from pathlib import Path

import pytest
from tests.support.tables import draw_table

from plumbline.tables.manifest_file import Manifest


def test_a_manifest_is_summarised_and_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plumbline.tables.parquet_batches.BATCH_ROWS", 60)
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
