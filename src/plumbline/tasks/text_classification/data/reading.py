"""Back from disk: the examples of one split, by column."""

from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


def read(examples: Path, split: str, columns: list[str] | None = None) -> "pa.Table":
    """Read one split's columns (all: id, text, label, metadata), in order; raises DataError where there is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = examples / f"{split}.parquet"
    try:
        return pq.read_table(path, columns=columns, partitioning=None)
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{path}: cannot be read ({error}); run `dvc repro ingest`") from None
