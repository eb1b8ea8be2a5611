"""Parquet in and out, a stretch of rows at a time, whatever the size of its row groups."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import Field
from plumbline.scoring.chunks import MAX_CHARS, MAX_ROWS, Chunk, Source

if TYPE_CHECKING:
    import pyarrow as pa

READ_BYTES = 2**20  # at a time, of each column: else whole row groups wait in memory
GROUP_ROWS, GROUP_BYTES = (
    65_536,
    64 * 2**20,
)  # of a row group that is written; the first that is reached


class Rows:
    """The rows of a Parquet file."""

    header, end = "", "\n"

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._path, self._num_rows = path, 0
        with self._translated():
            self._file = pq.ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False)
            self._schema = self._file.schema_arrow
        self.names: list[str] = self._schema.names

    def schema(self) -> "pa.Schema":
        """As the file has it."""
        return self._schema

    def chunks(self) -> Iterator[Chunk]:
        """Rows in the order of the file."""
        total = max(1, self._file.metadata.num_rows)
        with self._translated():
            for batch in self._file.iter_batches(MAX_ROWS, use_threads=False):
                for part in _cut(batch):
                    first, self._num_rows = self._num_rows, self._num_rows + part.num_rows
                    yield Chunk(
                        self._path,
                        first,
                        part.num_rows,
                        self._num_rows / total,
                        _values(part),
                        batch=part,
                    )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split())[:200]
            place = f"after row {self._num_rows:,}: " if self._num_rows else ""
            raise DataError(
                f"{self._path}: {place}cannot be read as Parquet ({reason}); fetch it again"
            ) from None


class Written:
    """Parquet cannot be appended to: chunks wait as Arrow streams, one behind the other, until all are there."""

    def __init__(self, source: Source, fields: Sequence[Field]) -> None:
        import pyarrow as pa

        self._given = source.schema()
        self._added = pa.schema([(field.name, _type(field.type)) for field in fields])
        self._schema = pa.schema([*self._given, *self._added], metadata=self._given.metadata)

    def header(self) -> bytes:
        """Nothing stands before the first row."""
        return b""

    def encoded(self, chunk: Chunk, answers: Mapping[str, Sequence[Any]]) -> bytes:
        """An Arrow stream of one batch."""
        import pyarrow as pa

        given = (
            chunk.batch.columns
            if chunk.batch is not None
            else _arrays(self._given, chunk.column, chunk)
        )
        batch = pa.record_batch(
            [*given, *_arrays(self._added, answers.__getitem__, chunk)], schema=self._schema
        )
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(
            stream, self._schema, options=pa.ipc.IpcWriteOptions(compression="lz4")
        ) as writer:
            writer.write_batch(batch)
        return bytes(stream.getvalue())

    def finish(self, rows: Path) -> Path:
        """The output, beside `rows`: its row groups are of one size, however the chunks were cut."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        done, waiting = rows.with_name("finished"), list[pa.RecordBatch]()
        with self._possible(), pq.ParquetWriter(done, self._schema, compression="zstd") as writer:
            for batch in _streamed(rows):
                waiting.append(batch)
                if (
                    sum(b.num_rows for b in waiting) >= GROUP_ROWS
                    or sum(b.nbytes for b in waiting) >= GROUP_BYTES
                ):
                    writer.write_table(pa.Table.from_batches(waiting))
                    waiting.clear()
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting))
        return done

    @contextmanager
    def _possible(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except pa.ArrowException as error:  # such as an object without a key
            raise DataError(
                f"these columns cannot be written as Parquet ({error}); write .jsonl"
            ) from None


def _streamed(rows: Path) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    with pa.OSFile(str(rows)) as file:
        while file.tell() < file.size():
            yield from pa.ipc.open_stream(file)


def _arrays(
    schema: "pa.Schema", column: Callable[[str], Sequence[Any]], chunk: Chunk
) -> "list[pa.Array]":
    import pyarrow as pa

    def array(field: pa.Field) -> pa.Array:
        try:
            return pa.array(column(field.name), field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            last = f"row {chunk.first + chunk.num_rows:,}"
            raise DataError(
                f"{chunk.place(0)} to {last}: {field.name}: not all of type {field.type} ({error}); write .jsonl"
            ) from None

    return [array(field) for field in schema]


def _type(kind: str | Mapping[str, Any]) -> "pa.DataType":
    """The Arrow type of an MLflow type, given by name or, where it is nested, as MLflow writes it in JSON."""
    import pyarrow as pa

    plain = {
        "string": pa.string(), "long": pa.int64(), "integer": pa.int32(), "double": pa.float64(), "float": pa.float32(),
        "boolean": pa.bool_(), "binary": pa.binary(), "datetime": pa.timestamp("us"),
    }  # fmt: skip
    if isinstance(kind, str):
        return plain[kind]
    match kind["type"]:
        case "array":
            return pa.list_(_type(kind["items"]))
        case "object":
            return pa.struct([(name, _type(inner)) for name, inner in kind["properties"].items()])
        case "map":
            return pa.map_(pa.string(), _type(kind["values"]))
    return plain[kind["type"]]


def _cut(batch: "pa.RecordBatch") -> "Iterator[pa.RecordBatch]":
    """Halves of a batch, and theirs, until none is over the limit, or it is one row."""
    if batch.nbytes <= MAX_CHARS or batch.num_rows <= 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _cut(batch.slice(0, half))
    yield from _cut(batch.slice(half))


def _values(batch: "pa.RecordBatch") -> Callable[[str], list[Any]]:
    return lambda name: list(batch.column(name).to_pylist())
