"""A few rows of a split, by their numbers, without the others in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.tables.split_files import count_file_rows, list_files
from plumbline.tasks.text_classification.data.storage import read_batches, read_split

if TYPE_CHECKING:
    import pyarrow as pa


def count_rows(examples: Path, split: str) -> int:
    """Return the number of rows of one split."""
    return sum(map(count_file_rows, list_files(examples, split)))


def read_rows(
    examples: Path, split: str, numbers: Sequence[int], columns: list[str] | None = None
) -> "pa.Table":
    """Read the rows of one split that have these numbers, from 0 on, in the order of `numbers`."""
    import numpy as np
    import pyarrow as pa

    wanted = np.array(numbers, dtype=np.int64)
    order = np.argsort(wanted)
    ascending = wanted[order]
    found = []
    start = 0
    for batch in read_batches(examples, split, columns):
        low, high = np.searchsorted(ascending, [start, start + batch.num_rows])
        found.append(batch.take(pa.array(ascending[low:high] - start)))
        start += batch.num_rows
    if not found:
        return read_split(examples, split, columns)  # which has no rows
    return pa.Table.from_batches(found).take(pa.array(np.argsort(order)))
