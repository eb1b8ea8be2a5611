"""The files of a split: their names, rows and bytes, and how a missing or damaged one is named."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.dirty_texts import make_values
from tests.support.small_sources import CSV

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.stages.ingest import ingest
from plumbline.stages.train import link_all_but_test
from plumbline.tables import split_files
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.data.storage import read_batches
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK

ROWS = 6


def make_small_params() -> TextParams:
    return TextParams.model_validate(make_values("raw.csv"))


@pytest.fixture
def examples(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Examples that were ingested into the current folder, in files of 6 rows."""
    monkeypatch.setattr(split_files, "FILE_ROWS", ROWS)
    Path("raw.csv").write_text(CSV)
    ingest(make_small_params(), TASK)
    return layout.EXAMPLES


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_each_file_but_the_last_of_a_split_is_full(examples: Path) -> None:
    for split in SPLITS:
        paths = split_files.list_files(examples, split)
        names = [f"{split}.{number:05}.parquet" for number in range(len(paths))]
        assert [path.name for path in paths] == names
        sizes = [pq.read_metadata(path).num_rows for path in paths]
        assert set(sizes[:-1]) <= {ROWS}
        assert 0 < sizes[-1] <= ROWS
    assert len(split_files.list_files(examples, "train")) > 2


@pytest.mark.parametrize("number", [0, 1])
def test_a_missing_file_is_named_with_the_remedy(examples: Path, number: int) -> None:
    (examples / f"train.0000{number}.parquet").unlink()
    message = rf"^data/examples/train\.0000{number}\.parquet: not found; run `dvc repro -f ingest`"
    with pytest.raises(DataError, match=message):
        read_split(examples, "train")


def test_a_damaged_file_is_named_with_the_remedy(examples: Path) -> None:
    path = examples / "train.00001.parquet"
    path.write_bytes(path.read_bytes()[:100])
    message = r"^data/examples/train\.00001\.parquet: cannot be read \(.*\); run `dvc repro"
    for read in (read_split, lambda *arguments: list(read_batches(*arguments))):
        with pytest.raises(DataError, match=message):
            read(examples, "train")


def test_a_training_gets_no_file_of_the_test_split(examples: Path, tmp_path: Path) -> None:
    target = tmp_path / "aside"
    target.mkdir()
    link_all_but_test(examples, target)
    assert list_names(target) == [n for n in list_names(examples) if not n.startswith("test.")]
    assert read_split(target, "train").equals(read_split(examples, "train"))
    with pytest.raises(DataError, match=r"aside/test\.00000\.parquet: not found"):
        read_split(target, "test")
