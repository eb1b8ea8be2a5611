"""From any source to examples and a manifest: in constant memory, the same bytes every time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.sources.labelled_requests import WHICH
from plumbline.sources.parts import locate_parts
from plumbline.sources.source_part import SourcePart
from plumbline.tables.records import WantedColumn
from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.data.division import (
    COUNT_KEPT,
    READ_KEPT,
    divide_rows,
    name_rows,
)
from plumbline.tasks.text_classification.data.generated import build_generated_part
from plumbline.tasks.text_classification.data.label_cells import LabelCells
from plumbline.tasks.text_classification.data.reading import SourceReader
from plumbline.tasks.text_classification.data.source_rows import batch_rows
from plumbline.tasks.text_classification.data.storage import write_examples
from plumbline.tasks.text_classification.data.summary import Summary
from plumbline.tasks.text_classification.params import TextParams

TEXT_SYNONYMS = (
    "sentence", "utterance", "query", "message", "content", "body", "review", "question", "title",
    "description",
)  # fmt: skip
LABEL_SYNONYMS = (
    "category", "class", "intent", "target", "topic", "tag", "y", "sentiment", "label_name",
)  # fmt: skip


def ingest(params: TextParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write the files of `examples`, and `manifest`; return data/source.json.

    Examples have the columns id, text, label and the metadata columns, all text, and where rows
    have sets of labels also `label_set`, the labels as a JSON list. The manifest has
    one row for each, in the order they were read: id (<part name>:<row>), split, label, length
    (characters), digest, content_digest, the metadata columns, `decoded` (bytes were replaced),
    `truncated` and, for generated data only, `noisy` (the label is not the true one; it is not
    among the examples, so that no candidate can learn from it).

    The source is read once; its rows wait in a temporary database.

    Raises DataError for a source or row that cannot be used, and ParamsError where params do not
    fit the source.
    """
    parts = _list_parts(params)
    cells = LabelCells(params.data.columns)
    reader = SourceReader(params, cells, _list_columns(params))
    rows = StoredRows(batch_rows(reader.read_parts(parts), reader.num_values))
    names = name_rows(rows, cells, params.data.policies.nulls)
    counts = divide_rows(rows, params, cells, {part.split for part in parts})
    write_examples(rows.read_parts(READ_KEPT), params, examples, manifest)
    notices = [*reader.notices, *names.describe(), *_describe_empty(parts, reader.num_rows)]
    summary = Summary(rows.query(COUNT_KEPT, WHICH), cells)
    return summary.build_facts(params, parts, sum(reader.num_rows), counts, notices)


def _list_parts(params: TextParams) -> list[SourcePart]:
    source = params.data.source
    if source == "generated":
        locate_parts([], params.data.sha256)  # refuses pinned digests: there is no file
        return [build_generated_part(params)]
    if isinstance(source, str):
        return locate_parts([(None, source)], params.data.sha256)
    return locate_parts(source.list_given().items(), params.data.sha256)


def _list_columns(params: TextParams) -> tuple[WantedColumn, ...]:
    """The wanted columns: text, label, metadata, then the one that splits divide by, if another."""
    columns = params.data.columns
    wanted = [WantedColumn(columns.text, "data.columns.text", TEXT_SYNONYMS)]
    is_list = columns.label_separator is not None
    for name in columns.list_labels():
        wanted.append(WantedColumn(name, "data.columns.label", LABEL_SYNONYMS, may_be_list=is_list))
    for name in columns.metadata:
        remedy = (
            f"leave {name!r} out of data.columns.metadata (and of evaluation.slices) "
            "if this source has none"
        )
        wanted.append(WantedColumn(name, "data.columns.metadata", remedy=remedy, is_one_of=True))
    divider = params.data.split.column
    if divider is not None and divider not in [column.name for column in wanted]:
        wanted.append(WantedColumn(divider, "data.split.column"))
    return tuple(wanted)


def _describe_empty(parts: Sequence[SourcePart], num_rows: Sequence[int]) -> Iterator[str]:
    """Name parts without rows; DataError where a split has no other part."""
    filled = {part.split for part, size in zip(parts, num_rows, strict=True) if size}
    for part, size in zip(parts, num_rows, strict=True):
        if part.split not in filled:
            raise DataError(
                f"{part.name}: 0 rows below the header; fill the file, or leave it out of "
                "data.source"
            )
        if not size:
            yield f"{part.name}: 0 rows"
