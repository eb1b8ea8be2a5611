"""From any source to examples and one manifest row for each, in constant memory and the same bytes every time."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.data import sources, splits
from plumbline.tasks.text_classification.data.policies import Example, Tally, accepted
from plumbline.tasks.text_classification.data.rows import Part, Reading
from plumbline.tasks.text_classification.data.summary import Summary
from plumbline.tasks.text_classification.data.writing import Batches
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pyarrow as pa


def ingest(params: TextParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write `examples`/{train,validation,test}.parquet and `manifest`; return what data/source.json says of the source.

    Examples have the columns id, text, label and the metadata columns, all text. The manifest has one row for each, in
    the order they were read: id (<file name>:<row>), split, label, length (characters), digest, the metadata columns,
    `decoded` (bytes were replaced), `truncated` and, for generated data alone, `noisy` (the label is not the true one;
    it stands here and not with the examples, so that no candidate can learn from it).

    Raises DataError for a source or row that cannot be used, and ParamsError where params do not fit the source.
    """
    parts, reading = sources.parts(params), _reading(params)
    given = {part.split for part in parts}
    assign = splits.assigner(params.data.split, given, lambda: _divided_by(parts, params, reading))
    tally, summary = Tally(), Summary()
    with ExitStack() as stack:
        schemas = _schemas(params)
        tables = {
            split: stack.enter_context(Batches(examples / f"{split}.parquet", schemas[0]))
            for split in SPLITS
        }
        rows = stack.enter_context(Batches(manifest, schemas[1]))
        num_metadata = len(params.data.columns.metadata)
        for part in parts:
            before = tally.num_rows
            for row in accepted(part, params.data.policies, reading, tally):
                divider = _divider(row, params)
                split = (
                    part.split
                    if part.split in ("validation", "test")
                    else assign(row.digest, divider, row.id)
                )
                metadata = row.values[:num_metadata]
                tables[split].add((row.id, row.text, row.label, *metadata), len(row.text))
                flags = (row.decoded, row.truncated, *(() if row.noisy is None else (row.noisy,)))
                rows.add((row.id, split, row.label, len(row.text), row.digest, *metadata, *flags))
                summary.add(split, row)
            if tally.num_rows == before:
                raise DataError(
                    f"{part.name}: 0 rows below the header; fill the file, or leave it out of data.source"
                )
    return summary.facts(params, parts, tally, reading.notices)


def _reading(params: TextParams) -> Reading:
    """The columns to read: text, label, metadata, then the one that splits divide by where it is yet another."""
    columns, split = params.data.columns, params.data.split
    keys = {columns.text: "data.columns.text", columns.label: "data.columns.label"}
    keys |= dict.fromkeys(columns.metadata, "data.columns.metadata")
    if split.column is not None:
        keys.setdefault(split.column, "data.split.column")
    return Reading(tuple(keys), keys, params.data.policies.encoding == "refuse")


def _schemas(params: TextParams) -> tuple["pa.Schema", "pa.Schema"]:
    import pyarrow as pa

    text = pa.string()
    metadata = [(name, text) for name in params.data.columns.metadata]
    flags = ["decoded", "truncated", *(["noisy"] if params.data.source == "generated" else [])]
    example = pa.schema([("id", text), ("text", text), ("label", text), *metadata])
    row = [("id", text), ("split", text), ("label", text), ("length", pa.int64()), ("digest", text)]
    return example, pa.schema([*row, *metadata, *((flag, pa.bool_()) for flag in flags)])


def _divider(row: Example, params: TextParams) -> str | None:
    """The value of data.split.column; None where splits go by text."""
    column, columns = params.data.split.column, params.data.columns
    if column is None:
        return None
    if column in (columns.text, columns.label):
        return row.text if column == columns.text else row.label
    return (
        row.values[columns.metadata.index(column)] if column in columns.metadata else row.values[-1]
    )


def _divided_by(
    parts: list[Part], params: TextParams, reading: Reading
) -> Iterator[tuple[str | None, str]]:
    """The same for every row that is to be divided, with its place: a first pass over the source."""
    for part in parts:
        if part.split in (None, "train"):
            quiet = Reading(reading.wanted, reading.keys, reading.refuse_encoding)
            for row in accepted(part, params.data.policies, quiet, Tally()):
                yield _divider(row, params), row.id
