"""Lines of JSON in and out; where both are, an object stays as it was, byte for byte, and grows at its end."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.bundle import strict
from plumbline.contract.errors import DataError
from plumbline.scoring.chunks import MAX_ROWS, Chunk, Form, Source
from plumbline.scoring.lines import Lines, Record, chunked
from plumbline.scoring.values import objects, packed

if TYPE_CHECKING:
    import pyarrow as pa


class Rows:
    """One object a line; empty lines are none.

    `answers` are names that no object may have. With `alike`, none may have a name that none of the first chunk has.
    """

    header, end = "", "\n"

    def __init__(self, path: Path, form: Form, answers: Sequence[str], alike: bool) -> None:
        self._path, self._lines = path, Lines(path, form)
        self._answers, self._alike, self._settled = set(answers), alike, False
        self._known: dict[str, None] = {}
        self._rest = chunked(self._records(), self._lines, _picked)
        self._head = [chunk] if (chunk := next(self._rest, None)) else []
        self.names, self._settled = list(self._known), True

    def schema(self) -> "pa.Schema":
        """What the first chunk holds; DataError for a column in which values are not of one kind."""
        import pyarrow as pa

        def kind(name: str) -> pa.DataType:
            try:
                found = pa.infer_type(self._head[0].column(name))
            except (pa.ArrowException, OverflowError) as error:
                raise DataError(
                    f"{self._path}: {name}: more than one kind of value ({error}); write .jsonl"
                ) from None
            return pa.string() if pa.types.is_null(found) else found

        return pa.schema([(name, kind(name)) for name in self.names])

    def chunks(self) -> Iterator[Chunk]:
        """Rows in the order of the file."""
        return chain(self._head, self._rest)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    def _records(self) -> Iterator[Record]:
        """Each line with its number and the object on it."""
        for line in self._lines:
            if text := line.strip():
                record = _object(text, self._lines.here)
                if not record.keys() <= self._known.keys():
                    self._learn(record)
                yield self._lines.number, text, record
            self._lines.taken.clear()

    def _learn(self, record: dict[str, Any]) -> None:
        """Take up names that were not met before."""
        new = [name for name in record if name not in self._known]
        if taken := self._answers & set(new):
            raise DataError(
                f"{self._lines.here}: has {min(taken)!r}, as an answer is called; add --prefix predicted_"
            )
        if self._settled and self._alike:
            raise DataError(
                f"{self._lines.here}: {new[0]!r} is in no row of the first {MAX_ROWS:,}; write .jsonl"
            )
        self._known.update(dict.fromkeys(new))


class Written:
    """Rows with their answers at their end."""

    def __init__(self, form: Form, source: Source, same: bool, names: Sequence[str]) -> None:
        self._form, self._columns, self._names, self._same = form, source.names, names, same

    def header(self) -> bytes:
        """Nothing stands before the first row."""
        return b""

    def encoded(self, chunk: Chunk, answers: Mapping[str, Sequence[Any]]) -> bytes:
        """Rows with their answers."""
        said = {name: answers[name] for name in self._names}
        if self._same:
            both = zip(chunk.raw, objects(said), strict=True)
            rows = (f"{raw[:-1].rstrip()}, {answer[1:]}\n" for raw, answer in both)
        else:
            rows = (
                f"{row}\n" for row in objects({n: chunk.column(n) for n in self._columns} | said)
            )
        return packed("".join(rows), self._form)

    def finish(self, rows: Path) -> Path:
        """All rows are the output."""
        return rows


def _picked(name: str, records: Sequence[dict[str, Any]]) -> list[Any]:
    return [record.get(name) for record in records]


def _object(text: str, here: str) -> dict[str, Any]:
    try:
        found = strict.loads(text)
    except ValueError as error:
        raise DataError(f"{here}: not a JSON object on one line ({error})") from None
    if not isinstance(found, dict):
        raise DataError(f"{here}: expected a JSON object, found {type(found).__name__}")
    return found
