"""A few rows of a split by their numbers: those of the whole table, in the order asked for."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from tests.support.small_texts import write_examples

from plumbline.tasks.text_classification.data import count_rows, read_rows, read_split


def test_chosen_rows_are_those_of_the_whole_table(tmp_path: Path) -> None:
    write_examples(tmp_path / "examples")
    path = tmp_path / "examples/train.parquet"
    pq.write_table(pq.read_table(path), path, row_group_size=10)
    whole = read_split(tmp_path / "examples", "train")
    assert count_rows(tmp_path / "examples", "train") == len(whole) == 112
    numbers = np.random.default_rng(0).permutation(112)[:30].tolist()
    assert read_rows(tmp_path / "examples", "train", numbers).equals(whole.take(numbers))
    texts = read_rows(tmp_path / "examples", "train", [111, 0, 5], ["text"])
    assert texts["text"].to_pylist() == [whole["text"][row].as_py() for row in (111, 0, 5)]


def test_a_split_without_rows_has_none_to_choose(tmp_path: Path) -> None:
    write_examples(tmp_path / "examples")
    path = tmp_path / "examples/train.parquet"
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    assert count_rows(tmp_path / "examples", "train") == 0
    assert len(read_rows(tmp_path / "examples", "train", [])) == 0
