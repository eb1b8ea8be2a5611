"""Examples and their manifest on disk."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import explain_damage
from plumbline.contract.task import CONTENT_DIGEST, LABEL_SET, SPLITS
from plumbline.tables.parquet_batches import BatchWriter
from plumbline.tables.split_files import (
    REMEDY,
    SplitWriter,
    list_files,
    read_metadata,
    read_split,
    read_split_batches,
)
from plumbline.tasks.text_classification.data.label_sets import choose_list_labels, serialize_labels
from plumbline.tasks.text_classification.data.normalisation import digest_content, digest_text
from plumbline.tasks.text_classification.data.source_rows import name_value
from plumbline.tasks.text_classification.params import SourceColumns, TextParams

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def count_rows(examples: Path, split: str) -> int:
    """Return the number of rows of one split."""
    return sum(read_metadata(path).num_rows for path in list_files(examples, split))


def read_rows(
    examples: Path, split: str, numbers: Sequence[int], columns: Sequence[str] | None = None
) -> "pa.Table":
    """Read the rows of one split that have these numbers, from 0 on, in the order of `numbers`."""
    import pyarrow as pa
    from pyarrow import dataset

    files = list_files(examples, split)
    with explain_damage(files[0], REMEDY):
        rows = dataset.dataset(files, format="parquet")
        chosen = rows.take(pa.array(numbers, pa.int64()), columns=columns)
    return chosen.cast(pa.schema([(name, pa.string()) for name in chosen.column_names]))


def read_batches(
    examples: Path, split: str, columns: Sequence[str] | None = None
) -> Iterator["pa.RecordBatch"]:
    """Yield the rows of one split as `read_split` returns them, a few thousand at a time.

    Columns that the split does not have are left out; the others are texts of one type.
    """
    import pyarrow as pa

    for batch in read_split_batches(examples, split, columns):  # pandas has another type of text
        yield batch.cast(pa.schema([(name, pa.string()) for name in batch.schema.names]))


def has_label_sets(examples: Path, split: str) -> bool:
    """Whether the label of a row is the text of a set of labels; ingest lists them then."""
    return LABEL_SET in read_metadata(list_files(examples, split)[0]).schema.names


def read_label_sets(examples: Path, split: str) -> list[tuple[str, ...]]:
    """Return the labels of each row of one split, in order; one each where rows have one."""
    labels = read_split(examples, split, ["label"])["label"].to_pylist()
    return list(map(choose_list_labels(has_label_sets(examples, split)), labels))


def read_inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """Return the predictor's columns for one split, in order."""
    return {"text": read_split(examples, split, ["text"])["text"].to_pylist()}


def list_rows(examples: Path, split: str) -> Iterator["pd.DataFrame"]:
    """Yield the manifest's rows of one split, in order, without what only ingest can know."""
    for batch in read_batches(examples, split):
        rows: pd.DataFrame = batch.to_pandas()
        texts = rows["text"].tolist()
        if LABEL_SET in rows:
            rows[LABEL_SET] = rows["label"].map(serialize_labels)
        yield rows.drop(columns="text").assign(
            length=list(map(len, texts)),
            digest=list(map(digest_text, texts)),
            **{CONTENT_DIGEST: list(map(digest_content, texts))},
        )


def write_examples(
    rows: "Iterable[pa.RecordBatch]", params: TextParams, examples: Path, manifest: Path
) -> None:
    """Write rows into files of their splits, and one row for each into the manifest."""
    import pyarrow as pa
    import pyarrow.compute as pc

    example_schema, manifest_schema = _build_schemas(params)
    with ExitStack() as stack:
        splits: dict[str, SplitWriter] = {}
        for split in SPLITS:
            splits[split] = stack.enter_context(SplitWriter(examples, split, example_schema))
        writer = stack.enter_context(BatchWriter(manifest, manifest_schema))
        for batch in rows:
            columns = _build_columns(batch, params.data.columns)
            arrays = [columns[name] for name in example_schema.names]
            own = pa.record_batch(arrays, example_schema)
            for split, split_writer in splits.items():
                split_writer.add(own.filter(pc.equal(batch["split"], split)))
            arrays = [columns[name] for name in manifest_schema.names]
            writer.add(pa.record_batch(arrays, manifest_schema))


def _build_columns(rows: "pa.RecordBatch", named: SourceColumns) -> "dict[str, pa.Array]":
    """Return what both schemas name, and more."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    for number, name in enumerate(named.metadata):
        columns[name] = rows[name_value(number)]
    columns["length"] = pc.utf8_length(rows["text"]).cast("int64")
    columns[CONTENT_DIGEST] = pa.array(map(digest_content, rows["text"].to_pylist()))
    if named.has_label_sets:
        sets = map(serialize_labels, rows["label"].to_pylist())
        columns[LABEL_SET] = pa.array(sets, pa.string())
    return columns


def _build_schemas(params: TextParams) -> tuple["pa.Schema", "pa.Schema"]:
    """Return the schema of the examples and that of the manifest.

    Of sets of labels, both also have the labels one by one.
    """
    import pyarrow as pa

    text = pa.string()
    metadata_fields = [(name, text) for name in params.data.columns.metadata]
    if params.data.columns.has_label_sets:
        metadata_fields.append((LABEL_SET, text))
    example = [("id", text), ("text", text), ("label", text)]
    row = [("id", text), ("split", text), ("label", text), ("length", pa.int64()), ("digest", text)]
    row.append((CONTENT_DIGEST, text))
    flags = [("decoded", pa.bool_()), ("truncated", pa.bool_())]
    if params.data.source == "generated":
        flags.append(("noisy", pa.bool_()))
    return pa.schema(example + metadata_fields), pa.schema(row + metadata_fields + flags)
