"""Encoded texts: a batch has what the predictor reads."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from tests.support.small_texts import small_params, write_examples

from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models import build_learner
from plumbline.tasks.text_classification.predictor import TfidfFeatures, load


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
    texts = [table["text"][row].as_py() for row in rows]
    learner.save(tmp_path)
    features = load(tmp_path).features
    for position, (ids, weights) in enumerate(features.encode_texts(texts)):
        assert encoded.lengths[rows[position]] == len(ids)
        assert batch["ids"][position, : len(ids)].tolist() == ids.tolist()
        assert batch["weights"][position, : len(ids)].tolist() == weights.tolist()
        assert not batch["ids"][position, len(ids) :].any()
        assert not batch["weights"][position, len(ids) :].any()


def test_a_text_without_a_known_word_is_one_cell_of_padding(tmp_path: Path) -> None:
    write_examples(tmp_path / "examples")
    table = read_split(tmp_path / "examples", "validation")
    texts = pa.array(["?!", *table["text"].to_pylist()[1:]])
    write_split(tmp_path / "examples", "validation", table.set_column(1, "text", texts))
    rows = build_learner(small_params(), "linear", tmp_path / "examples").data.validation
    batch = rows.__getitems__([0])
    expected = TfidfFeatures(["a"], np.ones(1, np.float32)).encode_text("?!")
    assert (batch["ids"][0].tolist(), batch["weights"][0].tolist()) == ([0], [0.0])
    assert tuple(each.tolist() for each in expected) == ([0], [0.0])
