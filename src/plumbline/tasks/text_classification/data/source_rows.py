"""Rows of the source as they wait until all of it is known.

A column whose name begins with # is for ingest alone: no column of data has such a name.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from plumbline.tables.parquet_batches import BATCH_BYTES, BATCH_ROWS
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pyarrow as pa


class ReadRow(NamedTuple):
    """A row of the source, and what follows from it alone."""

    id: str
    found: str  # its label as it is spelled
    given: str | None  # the split of its part
    text: str
    dropped: str | None = None  # the policy that drops it
    digest: str = ""
    compact: int = 0  # of `digest_forms`
    decoded: bool = False
    truncated: bool = False
    nul: bool = False
    noisy: bool | None = None  # None: only generated data know their true labels
    values: tuple[str, ...] = ()  # of the wanted columns after text and label; missing: empty


def name_value(number: int) -> str:
    """Return the name of the column that has this one of the values of each row, from 0."""
    return f"#{number}"


def find_divider(params: TextParams) -> str:
    """Return what data.split divides named rows by, in SQL; NULL where it goes by text."""
    column = params.data.split.column
    columns = params.data.columns
    if column is None:
        return "NULL"
    if column in (columns.text, columns.label):
        return "text" if column == columns.text else "label"
    names = [*columns.metadata, column]
    return f'"{name_value(names.index(column))}"'


def batch_rows(rows: Iterable[ReadRow], num_values: int) -> "Iterator[pa.RecordBatch]":
    """Yield all rows in order; a batch is bounded in rows and in characters."""
    import pyarrow as pa

    text, flag = pa.string(), pa.bool_()
    names = ["id", "#found", "#given", "text", "#dropped", "digest", "#compact"]
    names += ["decoded", "truncated", "#nul", "noisy", *map(name_value, range(num_values))]
    types = [text, text, text, text, text, text, pa.uint64(), flag, flag, flag, flag]
    types += [text] * num_values
    waiting: list[tuple[Any, ...]] = []
    size = 0

    def build_batch() -> pa.RecordBatch:
        columns = zip(*waiting, strict=True) if waiting else [()] * len(names)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return pa.record_batch(arrays, names)

    for row in rows:
        waiting.append((*row[:-1], *(row.values or ("",) * num_values)))
        size += len(row.text)
        if len(waiting) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield build_batch()
            waiting.clear()
            size = 0
    yield build_batch()
