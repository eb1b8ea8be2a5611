"""Chunks of rows, and what reads and writes them.

The input is cut by its rows alone, so that a run that resumes cuts it as the first run did.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

# Of a chunk: batches of texts of similar length have little padding, and a crash loses little.
MAX_ROWS = 1024
MAX_CHARS = 8 * 2**20  # of a chunk; a single row may be longer


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of the input."""

    path: Path
    first_row: int  # counted from 0
    num_rows: int
    share_read: float  # of the input that was read so far, from 0 to 1
    get_column: Callable[[str], list[Any]]  # the values in the column of that name
    raw: list[str] = field(default_factory=list)  # text files: each row without its line end
    lines: list[int] = field(default_factory=list)  # text files: where each row begins, from 1
    batch: "pa.RecordBatch | None" = None  # Parquet files: the rows

    def locate_row(self, row: int) -> str:
        """Return file, row and line of a row of this chunk, counted from 1."""
        line = f" (line {self.lines[row]:,})" if self.lines else ""
        return f"{self.path}: row {self.first_row + row + 1:,}{line}"


class RowReader(Protocol):
    """An input file that is open."""

    names: list[str]  # of its columns; in JSON lines, those in the first chunk
    header: str  # CSV: the first line without its end
    line_end: str

    def build_schema(self) -> "pa.Schema":
        """Return the columns as an Arrow schema."""
        ...

    def read_chunks(self) -> Iterator[Chunk]:
        """Read the file from its beginning, once; DataError names file and row."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class RowWriter(Protocol):
    """An output format: its parts are appended to one file, which at the end becomes the output."""

    def encode_header(self) -> bytes:
        """Return what comes before the first row."""
        ...

    def encode_chunk(self, chunk: Chunk, answers: Mapping[str, Sequence[Any]]) -> bytes:
        """Return the rows of a chunk with their answers."""
        ...

    def finish(self, rows: Path) -> Path:
        """Return the output, made of everything that was appended to `rows`."""
        ...
