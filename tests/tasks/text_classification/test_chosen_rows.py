"""A few rows of a split by their numbers: those of the whole table, in the order asked for."""

from pathlib import Path

import numpy as np
import pytest
from tests.support.small_texts import write_examples

from plumbline.tables import split_files
from plumbline.tasks.text_classification.data import count_rows, read_rows, read_split


def test_chosen_rows_are_those_of_the_whole_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_files, "FILE_ROWS", 30)
    write_examples(tmp_path / "examples")
    whole = read_split(tmp_path / "examples", "train")
    assert count_rows(tmp_path / "examples", "train") == len(whole) == 112
    numbers = np.random.default_rng(0).permutation(112)[:30].tolist()
    assert read_rows(tmp_path / "examples", "train", numbers).equals(whole.take(numbers))
    texts = read_rows(tmp_path / "examples", "train", [111, 0, 5], ["text"])
    assert texts["text"].to_pylist() == [whole["text"][row].as_py() for row in (111, 0, 5)]
