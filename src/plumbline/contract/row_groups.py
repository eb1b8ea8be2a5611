"""Parquet in batches that are no larger than what its writer held at once."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8192  # of a row group, at most, and of what is read of one at once


def read_row_groups(
    source: Path | IO[bytes], columns: Sequence[str] | None = None
) -> Iterator["pa.RecordBatch"]:
    """Yield all rows in order, at most BATCH_ROWS of one row group at a time.

    pyarrow alone fills a batch from several groups, however long the texts are for which their
    writer ended each early. A column that is not there is left out; a file that cannot be read
    raises OSError or ValueError.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as file:
        for group in range(file.num_row_groups):
            yield from file.iter_batches(
                BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False
            )
