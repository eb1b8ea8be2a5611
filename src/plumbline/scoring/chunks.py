"""A stretch of the input's rows, cut by the rows alone, so that a run that goes on cuts them as the first one did."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from plumbline.contract.errors import ParamsError

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS = 1024  # enough that batches of texts of like length hold hardly any padding, and a crash loses little
MAX_CHARS = 8 * 2**20  # of a chunk; a single row may be longer
KINDS = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


@dataclass(frozen=True)
class Form:
    """What the name of a file says of its content."""

    kind: str  # csv, tsv, jsonl or parquet
    packed: bool  # by gzip


@dataclass(frozen=True)
class Chunk:
    """Rows that stand one after another in the input."""

    path: Path
    first: int  # how many rows stand before them
    num_rows: int
    share: float  # of the input that was read so far, from 0 to 1
    column: Callable[[str], list[Any]]  # the values in the column of that name
    raw: list[str] = field(
        default_factory=list
    )  # each row as it stands in a text file, without its line end
    lines: list[int] = field(
        default_factory=list
    )  # the line on which each begins, from 1, in a text file
    batch: "pa.RecordBatch | None" = None  # the rows of a Parquet file

    def place(self, row: int) -> str:
        """The file and where in it a row of this chunk stands, rows and lines counted from 1."""
        line = f" (line {self.lines[row]:,})" if self.lines else ""
        return f"{self.path}: row {self.first + row + 1:,}{line}"


class Source(Protocol):
    """An input file that was opened."""

    names: list[str]  # of its columns; of lines of JSON, those in the first chunk
    header: str  # the first line of CSV, without its end
    end: str  # of a line

    def schema(self) -> "pa.Schema":
        """The columns as Arrow has them."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """Read it from its beginning, once; DataError names file and row."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Sink(Protocol):
    """A form of output: its parts are appended to one file, which at the end becomes the output."""

    def header(self) -> bytes:
        """What stands before the first row."""
        ...

    def encoded(self, chunk: Chunk, answers: Mapping[str, Sequence[Any]]) -> bytes:
        """The rows of a chunk with their answers."""
        ...

    def finish(self, rows: Path) -> Path:
        """The output, made of all that was appended to `rows`."""
        ...


def form(path: Path) -> Form:
    """Read the form off the name; ParamsError where it names none."""
    packed = path.suffix.lower() == ".gz"
    kind = KINDS.get((path.with_suffix("") if packed else path).suffix.lower())
    if kind is None or (packed and kind == "parquet"):
        raise ParamsError(
            f"{path}: its ending names no form; known: {', '.join(KINDS)}, and all but Parquet with .gz"
        )
    return Form(kind, packed)
