"""Read and write Parquet, a chunk of rows at a time, whatever the size of the row groups."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import Field
from plumbline.contract.value_types import TYPES
from plumbline.scoring.chunks import MAX_CHARS, MAX_ROWS, Chunk, RowReader
from plumbline.tables.arrow_values import list_values

if TYPE_CHECKING:
    import pyarrow as pa

READ_BYTES = 2**20  # at a time, of each column: else whole row groups stay in memory
# A row group is written when it reaches one of these.
GROUP_ROWS = 65_536
GROUP_BYTES = 64 * 2**20


class ParquetReader:
    """The rows of a Parquet file."""

    header = ""
    line_end = "\n"

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._path = path
        self._num_rows = 0
        with self._convert_errors():
            self._file = pq.ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False)
            self._schema = self._file.schema_arrow
        self.names: list[str] = self._schema.names

    def build_schema(self) -> "pa.Schema":
        """Return the file's schema."""
        return self._schema

    def read_chunks(self) -> Iterator[Chunk]:
        """Read rows in the order of the file."""
        total = max(1, self._file.metadata.num_rows)
        with self._convert_errors():
            for batch in self._file.iter_batches(MAX_ROWS, use_threads=False):
                for part in _split_batch(batch):
                    first_row = self._num_rows
                    self._num_rows += part.num_rows
                    yield Chunk(
                        self._path,
                        first_row,
                        part.num_rows,
                        self._num_rows / total,
                        self._make_column_getter(part, first_row),
                        batch=part,
                    )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _make_column_getter(
        self, batch: "pa.RecordBatch", first_row: int
    ) -> Callable[[str], list[Any]]:
        def get_column(name: str) -> list[Any]:
            def describe_place(position: int) -> str:
                return f"{self._path}: row {first_row + position + 1:,}: column {name!r}"

            return list_values(batch.column(name), describe_place)

        return get_column

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split())[:200]
            where = f"after row {self._num_rows:,}: " if self._num_rows else ""
            raise DataError(
                f"{self._path}: {where}cannot be read as Parquet ({reason}); fetch it again"
            ) from None


class ParquetWriter:
    """Collects chunks as Arrow streams: Parquet cannot be appended to."""

    def __init__(self, reader: RowReader, fields: Sequence[Field]) -> None:
        import pyarrow as pa

        self._input_schema = reader.build_schema()
        self._added_schema = pa.schema(
            [(field.name, _convert_type(field.type)) for field in fields]
        )
        self._schema = pa.schema(
            [*self._input_schema, *self._added_schema], metadata=self._input_schema.metadata
        )

    def encode_header(self) -> bytes:
        """Return nothing: each Arrow stream has its schema."""
        return b""

    def encode_chunk(self, chunk: Chunk, answers: Mapping[str, Sequence[Any]]) -> bytes:
        """Return an Arrow stream of one batch."""
        import pyarrow as pa

        if chunk.batch is not None:
            arrays = list(chunk.batch.columns)
        else:
            arrays = _build_arrays(self._input_schema, chunk.get_column, chunk)
        arrays += _build_arrays(self._added_schema, answers.__getitem__, chunk)
        batch = pa.record_batch(arrays, schema=self._schema)
        stream = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(stream, self._schema, options=options) as writer:
            writer.write_batch(batch)
        return bytes(stream.getvalue())

    def finish(self, rows: Path) -> Path:
        """Write the output beside `rows`; its row groups do not depend on how chunks were cut."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        output = rows.with_name("finished")
        group: list[pa.RecordBatch] = []
        with (
            self._convert_errors(),
            pq.ParquetWriter(output, self._schema, compression="zstd") as writer,
        ):
            for batch in _read_streams(rows):
                group.append(batch)
                num_rows = sum(batch.num_rows for batch in group)
                num_bytes = sum(batch.nbytes for batch in group)
                if num_rows >= GROUP_ROWS or num_bytes >= GROUP_BYTES:
                    writer.write_table(pa.Table.from_batches(group))
                    group.clear()
            if group:
                writer.write_table(pa.Table.from_batches(group))
        return output

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except pa.ArrowException as error:  # such as an object without a key
            raise DataError(
                f"these columns cannot be written as Parquet ({error}); write .jsonl"
            ) from None


def _read_streams(rows: Path) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    with pa.OSFile(str(rows)) as file:
        while file.tell() < file.size():
            yield from pa.ipc.open_stream(file)


def _build_arrays(
    schema: "pa.Schema", get_column: Callable[[str], Sequence[Any]], chunk: Chunk
) -> "list[pa.Array]":
    import pyarrow as pa

    arrays = []
    for field in schema:
        try:
            arrays.append(pa.array(get_column(field.name), field.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            last = f"row {chunk.first_row + chunk.num_rows:,}"
            raise DataError(
                f"{chunk.locate_row(0)} to {last}: {field.name}: not all values are of type "
                f"{field.type} ({error}); write .jsonl"
            ) from None
    return arrays


def _convert_type(kind: str | Mapping[str, Any]) -> "pa.DataType":
    """Return the Arrow type of an MLflow type: its name or, if it is nested, MLflow's JSON form."""
    import pyarrow as pa

    if isinstance(kind, str):
        return pa.type_for_alias(TYPES[kind].arrow)
    match kind["type"]:
        case "array":
            return pa.list_(_convert_type(kind["items"]))
        case "object":
            properties = kind["properties"].items()
            return pa.struct([(name, _convert_type(inner)) for name, inner in properties])
        case "map":
            return pa.map_(pa.string(), _convert_type(kind["values"]))
    return _convert_type(kind["type"])


def _split_batch(batch: "pa.RecordBatch") -> "Iterator[pa.RecordBatch]":
    """Halve a batch again and again until no part is over the limit, or a part is one row."""
    if batch.nbytes <= MAX_CHARS or batch.num_rows <= 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _split_batch(batch.slice(0, half))
    yield from _split_batch(batch.slice(half))
