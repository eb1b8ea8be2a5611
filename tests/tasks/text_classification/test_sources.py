"""How the task uses its sources: splits as given or divided, digests, what must be watched."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError
from tests.support.small_sources import CSV

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.loading import load_params
from plumbline.tasks.text_classification.data import ingest
from plumbline.tasks.text_classification.params import TextParams

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    return tmp_path


def make_params(source: Any, watch: str = ".", **sha256: str) -> TextParams:
    values = json.loads(load_params(ROOT / "recipes/text_classification.yaml").model_dump_json())
    values["data"] |= {"source": source, "watch": watch, "sha256": sha256}
    values["data"]["columns"]["metadata"] = []
    values["evaluation"]["slices"] = []
    return TextParams.model_validate(values)


def run_ingest(params: TextParams, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    out = folder / "out"
    out.mkdir(exist_ok=True)
    facts = ingest(params, out, out / "manifest.parquet")
    return facts, pq.read_table(out / "manifest.parquet").to_pylist()


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def list_splits(rows: list[dict[str, Any]], prefix: str) -> set[str]:
    return {row["split"] for row in rows if row["id"].startswith(prefix)}


def test_given_splits_are_kept_and_validation_is_taken_out_of_train(folder: Path) -> None:
    (folder / "train.csv").write_text(CSV)
    (folder / "test.csv").write_text(CSV)
    source = {"train": "train.csv", "validation": None, "test": "test.csv"}
    _, rows = run_ingest(make_params(source), folder)
    assert list_splits(rows, "test") == {"test"}
    assert list_splits(rows, "train") == {"train", "validation"}


@pytest.mark.parametrize(
    "source",
    ["elsewhere/a.csv", "file:///elsewhere/a.csv", "sqlite:///b.db#SELECT 1", "hf://./set"],
)
def test_a_local_source_must_be_watched(source: str) -> None:
    with pytest.raises(ValidationError, match="is not inside watch"):
        make_params(source, watch="data/raw")


def test_pinned_digests_are_checked(folder: Path) -> None:
    (folder / "a.csv").write_text(CSV)
    run_ingest(make_params("a.csv", **{"a.csv": sha256(CSV)}), folder)
    with pytest.raises(DataError, match=r"but data\.sha256 pins 0000"):
        run_ingest(make_params("a.csv", **{"a.csv": "0" * 64}), folder)
    with pytest.raises(ParamsError, match=r"b\.csv: not a file of data.source"):
        run_ingest(make_params("generated", **{"b.csv": sha256(CSV)}), folder)


def test_a_hub_data_set_brings_its_own_splits(folder: Path) -> None:
    with pytest.raises(ValidationError, match="has splits of its own"):
        make_params({"train": "hf://a/b", "validation": None, "test": "a.csv"})


def test_few_texts_that_repeat_are_not_taken_for_labels(folder: Path) -> None:
    rows = [f"ticket {number % 3},{'abc'[number % 3]}" for number in range(60)]
    (folder / "a.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    facts, _ = run_ingest(make_params("a.csv"), folder)
    assert facts["rows_read"] == 60
