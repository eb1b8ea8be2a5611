"""Copies in held-out splits: which rows are some, however they come, and what that takes."""

import tracemalloc

import numpy as np
import pytest

from plumbline.tasks.text_classification.data.copies import HeldOutRows

SPLITS = ("train", "validation", "test")


@pytest.mark.parametrize("size", [1, 7, 64, 3000])
def test_a_copy_has_the_split_the_label_and_the_text_of_an_earlier_row(size: int) -> None:
    draw = np.random.default_rng(0)
    splits = [SPLITS[number] for number in draw.integers(3, size=3000)]
    labels = ["ab"[number] for number in draw.integers(2, size=3000)]
    texts = draw.integers(2**60, size=400, dtype=np.uint64)[draw.integers(400, size=3000)]
    seen = set()
    expected = []
    for row in zip(splits, labels, texts.tolist(), strict=True):
        expected.append(row in seen and row[0] != "train")
        seen.add(row)
    held_out = HeldOutRows()
    found: list[bool] = []
    for start in range(0, 3000, size):
        own = slice(start, start + size)
        found += held_out.find_copies(splits[own], labels[own], texts[own]).tolist()
    assert found == expected
    assert 500 < sum(found) < 2000


def test_a_held_out_row_takes_as_much_memory_as_it_says() -> None:
    num_rows = 200_000
    texts = np.random.default_rng(0).integers(2**60, size=num_rows, dtype=np.uint64)
    held_out = HeldOutRows()
    held_out.find_copies(["test"], ["a"], texts[:1])  # imports
    tracemalloc.start()
    for start in range(0, num_rows, 5000):
        own = texts[start : start + 5000]
        held_out.find_copies(["test"] * len(own), ["a"] * len(own), own)
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert now / num_rows < 9
    assert peak / num_rows < 27
