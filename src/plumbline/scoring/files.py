"""Which reader and which writer a file's name asks for."""

from collections.abc import Sequence
from pathlib import Path

from plumbline.contract.task import Field
from plumbline.scoring import columnar, delimited, jsonlines
from plumbline.scoring.chunks import Sink, Source, form


def opened(given: Path, wanted: Path, added: Sequence[Field]) -> Source:
    """The input, opened; DataError where it is broken at its beginning."""
    match form(given).kind:
        case "parquet":
            return columnar.Rows(given)
        case "jsonl":
            alike = form(wanted).kind != "jsonl"
            return jsonlines.Rows(given, form(given), [field.name for field in added], alike)
    return delimited.Rows(given, form(given))


def sink_for(given: Path, wanted: Path, source: Source, added: Sequence[Field]) -> Sink:
    """The writer of the output, for rows of `source` and the columns `added`."""
    same = form(given).kind == form(wanted).kind
    names = [field.name for field in added]
    match form(wanted).kind:
        case "parquet":
            return columnar.Written(source, added)
        case "jsonl":
            return jsonlines.Written(form(wanted), source, same, names)
    return delimited.Written(form(wanted), source, same, names)
