"""Encoded texts: they lie in files, memory keeps a few numbers a row, and nothing is left over."""

import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.support.small_texts import small_params, write_examples

from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models import build_learner
from plumbline.tasks.text_classification.predictor import TfidfFeatures
from plumbline.training.checkpoint import TrainingState
from plumbline.training.shared_batches import SharedBatches

BYTES_A_ROW = 60  # lengths and starts, the order of an epoch, and what sorting it takes


def test_a_batch_holds_its_rows_as_the_predictor_encodes_them(tmp_path: Path) -> None:
    write_examples(tmp_path / "examples")
    learner = build_learner(small_params(), "linear", tmp_path / "examples")
    table = read_split(tmp_path / "examples", "train")
    encoded = learner.data.train
    rows = [5, 0, 111, 5]
    batch = encoded.__getitems__(rows)
    assert batch["ids"].dtype == torch.int64
    assert batch["weights"].dtype == torch.float32
    classes = ["billing", "delivery", "login"]
    labels = [classes.index(table["label"][row].as_py()) for row in rows]
    assert batch["labels"].tolist() == labels
    for position, (ids, weights) in enumerate(encoded.read_rows(rows)):
        assert batch["ids"][position, : len(ids)].tolist() == ids.tolist()
        assert batch["weights"][position, : len(ids)].tolist() == weights.tolist()
        assert not batch["ids"][position, len(ids) :].any()
        assert not batch["weights"][position, len(ids) :].any()
    assert [len(ids) for ids, _ in encoded.read_rows(range(112))] == encoded.lengths.tolist()


def write_rows(folder: Path, num_rows: int) -> None:
    folder.mkdir()
    words = ["parcel", "invoice", "password", "late", "refund", "locked", "again", "please"]
    draw = np.random.default_rng(0)
    for split, count in (("train", num_rows), ("validation", 50)):
        numbers = draw.integers(0, len(words), (count, 6))
        texts = [" ".join(words[number] for number in row) for row in numbers]
        labels = [words[row[0]] for row in numbers]
        ids = [str(row) for row in range(count)]
        write_split(folder, split, pa.table({"id": ids, "text": texts, "label": labels}))


def measure_peak(examples: Path) -> int:
    """Return the most bytes that Python and NumPy hold while the batches of an epoch are made."""
    tracemalloc.start()
    try:
        data = build_learner(small_params(), "linear", examples).data
        for batch in SharedBatches(data, TrainingState()).list_train():
            assert len(batch["labels"])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_keeps_a_few_numbers_of_each_row(tmp_path: Path) -> None:
    peaks = []
    for run, num_rows in enumerate((100, 1_500, 6_500)):  # the first one imports
        write_rows(tmp_path / str(run), num_rows)
        peaks.append(measure_peak(tmp_path / str(run)))
    assert (peaks[2] - peaks[1]) / 5_000 < BYTES_A_ROW


def test_no_file_is_left_when_a_training_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    write_examples(tmp_path / "examples")
    learner = build_learner(small_params(), "linear", tmp_path / "examples")
    assert len(next(iter(learner.data.train_dataloader()))["labels"]) == 16
    assert not list(temporary.iterdir())  # while it runs: the files have no name


def test_a_text_without_a_known_word_is_one_cell_of_padding(tmp_path: Path) -> None:
    write_examples(tmp_path / "examples")
    table = read_split(tmp_path / "examples", "validation")
    texts = pa.array(["?!", *table["text"].to_pylist()[1:]])
    write_split(tmp_path / "examples", "validation", table.set_column(1, "text", texts))
    rows = build_learner(small_params(), "linear", tmp_path / "examples").data.validation
    [(ids, weights)] = rows.read_rows([0])
    expected = TfidfFeatures(["a"], np.ones(1, np.float32)).encode_text("?!")
    assert (ids.tolist(), weights.tolist()) == tuple(each.tolist() for each in expected)
