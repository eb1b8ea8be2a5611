"""Choose the reader of the input and the writer of the output."""

from collections.abc import Sequence
from pathlib import Path

from plumbline.contract.task import Field
from plumbline.scoring.chunks import RowReader, RowWriter
from plumbline.scoring.delimited import CsvReader, CsvWriter
from plumbline.scoring.file_format import parse_format
from plumbline.scoring.jsonlines import JsonlReader, JsonlWriter
from plumbline.scoring.parquet import ParquetReader, ParquetWriter


def open_reader(source: Path, target: Path, added: Sequence[Field]) -> RowReader:
    """Open the input; DataError if its beginning is not valid. `added`: columns of the output."""
    source_format = parse_format(source)
    match source_format.kind:
        case "parquet":
            return ParquetReader(source)
        case "jsonl":
            names = [field.name for field in added]
            has_columns = parse_format(target).kind != "jsonl"
            return JsonlReader(source, source_format, names, fixed_columns=has_columns)
    return CsvReader(source, source_format)


def create_writer(
    source: Path, target: Path, reader: RowReader, added: Sequence[Field]
) -> RowWriter:
    """Create the writer of the output, for the rows of `reader` and the columns `added`."""
    target_format = parse_format(target)
    keeps_rows = parse_format(source).kind == target_format.kind
    names = [field.name for field in added]
    match target_format.kind:
        case "parquet":
            return ParquetWriter(reader, added)
        case "jsonl":
            return JsonlWriter(target_format, reader, names, keeps_rows=keeps_rows)
    return CsvWriter(target_format, reader, names, keeps_rows=keeps_rows)
