"""Read and write JSON lines; from one to the other, an object keeps its bytes and gains keys."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.bundle import strict
from plumbline.contract.errors import DataError
from plumbline.scoring.chunks import MAX_ROWS, Chunk, RowReader
from plumbline.scoring.encoding import encode_objects, encode_text
from plumbline.scoring.file_format import FileFormat
from plumbline.scoring.text_lines import LineReader, Record, group_records

if TYPE_CHECKING:
    import pyarrow as pa


class JsonlReader:
    """One object on each line; empty lines are ignored.

    No object may have a key of `answer_names`. With `fixed_columns` (an output that has columns)
    no object may have a key that is not in the first chunk.
    """

    header = ""
    line_end = "\n"

    def __init__(
        self,
        path: Path,
        file_format: FileFormat,
        answer_names: Sequence[str],
        *,
        fixed_columns: bool,
    ) -> None:
        self._path = path
        self._lines = LineReader(path, file_format)
        self._answer_names = set(answer_names)
        self._known: dict[str, None] = {}  # keys so far, in the order of the file
        self._refuses_new_keys = False
        self._rest = group_records(self._read_records(), self._lines, _pick)
        first = next(self._rest, None)
        self._head = [first] if first else []
        self.names = list(self._known)
        self._refuses_new_keys = fixed_columns

    def build_schema(self) -> "pa.Schema":
        """Infer types from the first chunk; DataError for a column with values of many types."""
        import pyarrow as pa

        return pa.schema([(name, self._infer_type(name)) for name in self.names])

    def read_chunks(self) -> Iterator[Chunk]:
        """Read rows in the order of the file."""
        return chain(self._head, self._rest)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    def _infer_type(self, name: str) -> "pa.DataType":
        import pyarrow as pa

        try:
            inferred = pa.infer_type(self._head[0].get_column(name))
        except (pa.ArrowException, OverflowError) as error:
            raise DataError(
                f"{self._path}: {name}: values of more than one type ({error}); write .jsonl"
            ) from None
        return pa.string() if pa.types.is_null(inferred) else inferred

    def _read_records(self) -> Iterator[Record]:
        """Yield each line with its number and the object on it."""
        for line in self._lines:
            text = line.strip()
            if text:
                record = _parse_object(text, self._lines.location)
                if not record.keys() <= self._known.keys():
                    self._add_keys(record)
                yield self._lines.number, text, record
            self._lines.recent.clear()

    def _add_keys(self, record: dict[str, Any]) -> None:
        new = [name for name in record if name not in self._known]
        taken = self._answer_names.intersection(new)
        if taken:
            raise DataError(
                f"{self._lines.location}: key {min(taken)!r} has the name of an answer; "
                "add --prefix with another text before the names of answers"
            )
        if self._refuses_new_keys:
            raise DataError(
                f"{self._lines.location}: key {new[0]!r} is not in any of the first {MAX_ROWS:,} "
                "rows; write .jsonl"
            )
        self._known.update(dict.fromkeys(new))


class JsonlWriter:
    """Objects with their answers as last keys."""

    def __init__(
        self, file_format: FileFormat, reader: RowReader, names: Sequence[str], *, keeps_rows: bool
    ) -> None:
        self._format = file_format
        self._columns = reader.names
        self._names = names
        self._keeps_rows = keeps_rows  # input and output have one format: objects are copied

    def encode_header(self) -> bytes:
        """Return nothing: JSON lines have no header."""
        return b""

    def encode_chunk(self, chunk: Chunk, answers: Mapping[str, Sequence[Any]]) -> bytes:
        """Return objects with their answers."""
        added = {name: answers[name] for name in self._names}
        if self._keeps_rows:
            lines = _append_keys(chunk.raw, encode_objects(added))
        else:
            columns = {name: chunk.get_column(name) for name in self._columns}
            lines = encode_objects(columns | added)
        return encode_text("".join(f"{line}\n" for line in lines), self._format)

    def finish(self, rows: Path) -> Path:
        """Return `rows`: nothing is left to do."""
        return rows


def _append_keys(raw: Sequence[str], added: Iterator[str]) -> Iterator[str]:
    """Yield each object with the keys of a second one after its own."""
    for row, keys in zip(raw, added, strict=True):
        yield f"{row[:-1].rstrip()}, {keys[1:]}"


def _pick(name: str, records: Sequence[dict[str, Any]]) -> list[Any]:
    return [record.get(name) for record in records]


def _parse_object(text: str, location: str) -> dict[str, Any]:
    try:
        value = strict.parse_json(text)
    except ValueError as error:
        raise DataError(f"{location}: not a JSON object on one line ({error})") from None
    if not isinstance(value, dict):
        raise DataError(f"{location}: expected a JSON object, found {type(value).__name__}")
    return value
