"""Rows in files by a key: each range has all its rows, in the order in which they were added."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from plumbline.evidence import sorted_rows
from plumbline.evidence.sorted_rows import RowSorter, SortedRows, read_ranges

ROW = np.dtype([("key", np.uint64), ("number", np.int64)])


def draw_rows(num_rows: int, seed: int) -> np.ndarray:
    """Draw rows of which every third has the key of another one."""
    draw = np.random.default_rng(seed)
    rows = np.empty(num_rows, ROW)
    rows["key"] = draw.integers(0, 2**64, num_rows, dtype=np.uint64)
    rows["key"][::3] = draw.permutation(rows["key"])[: len(rows["key"][::3])]
    rows["number"] = np.arange(num_rows)
    return rows


def sort_rows(rows: np.ndarray, num_at_once: int = 7) -> SortedRows:
    with RowSorter(ROW, "key") as sorter:
        for start in range(0, len(rows), num_at_once):
            sorter.append(rows[start : start + num_at_once])
        return sorter.finish()


@pytest.mark.parametrize("max_rows", [1, 10, 64, 1000])
def test_ranges_have_each_row_once_and_in_order(
    max_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_rows, "MAX_ROWS", max_rows)
    one, other = draw_rows(200, 0), draw_rows(90, 1)
    other["key"][:40] = one["key"][:40]
    found = list(read_ranges(sort_rows(one), sort_rows(other[::-1])))
    assert len(found) == 200 // max_rows + 1
    for place, rows in ((0, one), (1, other)):
        parts = [pair[place] for pair in found]
        assert all((np.diff(part["number"]) > 0).all() for part in parts)
        assert (np.sort(np.concatenate(parts), order="number") == rows).all()
    keys = [set(left["key"]) | set(right["key"]) for left, right in found]
    assert sum(map(len, keys)) == len(set.union(*keys))  # no key is in two ranges


def test_the_least_and_the_greatest_key_are_in_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_rows, "MAX_ROWS", 1)
    rows = np.array([(2**64 - 1, 0), (0, 1)], ROW)
    found = list(read_ranges(sort_rows(rows), sort_rows(rows[:0])))
    assert [part["number"].tolist() for part, _ in found] == [[1], [], [0]]
    assert not any(len(part) for _, part in found)


def test_the_file_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = sort_rows(draw_rows(20, 0))
    assert not list(tmp_path.iterdir())
    assert len(rows) == len(rows.read_range(0, 2**64 - 1)) == 20
