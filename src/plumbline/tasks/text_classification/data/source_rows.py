"""Rows of the source in batches, as they wait until all of the source is known.

A column whose name begins with # is for ingest alone: no column of data has such a name.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from plumbline.contract.row_groups import BATCH_ROWS
from plumbline.tables.parquet_batches import BATCH_CHARS
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pyarrow as pa

DROPPED = "#dropped"
FOUND = "#found"
COMPACT = "#compact"
HAS_NUL = "#nul"
VALUE = "#value"


class ReadRow(NamedTuple):
    """A row of the source, and what follows from it alone; a dropped one has no text."""

    id: str
    dropped: str | None  # the policy that drops it
    found: str  # its label as it is spelled, or the value for which it is dropped
    text: str
    digest: str
    compact: int  # of `digest_forms`
    decoded: bool
    truncated: bool
    has_nul: bool
    noisy: bool | None  # None: only generated data know their true labels
    values: tuple[str, ...]  # of the wanted columns after text and label; missing ones are empty

    def get_value(self, column: str | None, label: str) -> str | None:
        """Return the value of a column that `find_divider` returned; `label` is that of the row."""
        if column is None:
            return None
        if column == "label":
            return label
        return self.text if column == "text" else self.values[int(column.removeprefix(VALUE))]


def name_value(number: int) -> str:
    """Return the name of the column that has this one of the values of each row, from 0."""
    return f"{VALUE}{number}"


def find_divider(params: TextParams) -> str | None:
    """Return the column of named rows that data.split divides by; None where it goes by text."""
    column = params.data.split.column
    columns = params.data.columns
    if column is None:
        return None
    if column == columns.text:
        return "text"
    if column == columns.label:
        return "label"
    if column in columns.metadata:
        return name_value(columns.metadata.index(column))
    return name_value(len(columns.metadata))


def filter_rows(batch: "pa.RecordBatch", wanted: "pa.Array") -> "pa.RecordBatch":
    """Return the rows that are wanted; where all are, the batch itself and no copy of it."""
    return batch if wanted.true_count == batch.num_rows else batch.filter(wanted)


def batch_rows(rows: Iterable[ReadRow], num_values: int) -> "Iterator[pa.RecordBatch]":
    """Yield all rows in order; a batch is bounded in rows and in characters."""
    schema = _build_schema(num_values)
    waiting: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        waiting.append((*row[:-1], *row.values))
        size += len(row.text)
        if len(waiting) >= BATCH_ROWS or size >= BATCH_CHARS:
            yield _build_batch(waiting, schema)
            waiting.clear()
            size = 0
    if waiting:
        yield _build_batch(waiting, schema)


def _build_batch(rows: list[tuple[Any, ...]], schema: "pa.Schema") -> "pa.RecordBatch":
    import pyarrow as pa

    arrays = []
    for column, field in zip(zip(*rows, strict=True), schema, strict=True):
        arrays.append(pa.array(column, field.type))
    return pa.record_batch(arrays, schema=schema)


def _build_schema(num_values: int) -> "pa.Schema":
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        [
            ("id", text),
            (DROPPED, text),
            (FOUND, text),
            ("text", text),
            ("digest", text),
            (COMPACT, pa.uint64()),
            ("decoded", pa.bool_()),
            ("truncated", pa.bool_()),
            (HAS_NUL, pa.bool_()),
            ("noisy", pa.bool_()),
            *((name_value(number), text) for number in range(num_values)),
        ]
    )
