"""Examples and their manifest on disk."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
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
from plumbline.tasks.text_classification.data.label_sets import serialize_labels, split_labels
from plumbline.tasks.text_classification.data.normalisation import digest_content, digest_text
from plumbline.tasks.text_classification.data.source_rows import name_value

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
    yield from map(_cast_to_texts, read_split_batches(examples, split, columns))


def has_label_sets(examples: Path, split: str) -> bool:
    """Whether the label of a row is the text of a set of labels; ingest lists them then."""
    return LABEL_SET in read_metadata(list_files(examples, split)[0]).schema.names


def read_label_sets(examples: Path, split: str) -> list[tuple[str, ...]]:
    """Return the labels of each row of one split, in order; one each where rows have one."""
    labels = read_split(examples, split, ["label"])["label"].to_pylist()
    if has_label_sets(examples, split):
        return [split_labels(label) for label in labels]
    return [(label,) for label in labels]


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
            length=[len(text) for text in texts],
            digest=[digest_text(text) for text in texts],
            **{CONTENT_DIGEST: [digest_content(text) for text in texts]},
        )


class ExampleWriter(AbstractContextManager["ExampleWriter"]):
    """Writes rows into files of their splits, and one row for each into the manifest."""

    def __init__(
        self,
        examples: Path,
        manifest: Path,
        metadata: Sequence[str],
        *,
        is_generated: bool,
        has_sets: bool,
    ) -> None:
        example_schema, manifest_schema = _build_schemas(metadata, is_generated, has_sets)
        self._metadata = metadata
        self._schemas = example_schema, manifest_schema
        self._splits: dict[str, SplitWriter] = {}
        with ExitStack() as stack:  # closes what is open, should the next one fail
            for split in SPLITS:
                writer = SplitWriter(examples, split, example_schema)
                self._splits[split] = stack.enter_context(writer)
            self._manifest = stack.enter_context(BatchWriter(manifest, manifest_schema))
            self._stack = stack.pop_all()

    def add(self, rows: "pa.RecordBatch") -> None:
        """Write rows, as `RowDivision` returns them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = self._build_columns(rows)
        examples, manifest = (
            pa.record_batch([columns[name] for name in schema.names], schema)
            for schema in self._schemas
        )
        self._manifest.add(manifest)
        for split, writer in self._splits.items():
            is_own = pc.equal(rows["split"], split)
            writer.add(examples.filter(is_own))

    def _build_columns(self, rows: "pa.RecordBatch") -> "dict[str, pa.Array]":
        """Return what both schemas name, and more."""
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        for number, name in enumerate(self._metadata):
            columns[name] = rows[name_value(number)]
        columns["length"] = pc.utf8_length(rows["text"]).cast("int64")
        columns[CONTENT_DIGEST] = pa.array(map(digest_content, rows["text"].to_pylist()))
        columns[LABEL_SET] = _serialize_all(rows["label"])
        return columns

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


def _serialize_all(labels: "pa.Array") -> "pa.Array":
    """Return the labels of each row as JSON."""
    import pyarrow as pa

    encoded = labels.dictionary_encode()
    sets = [serialize_labels(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(sets, pa.string()).take(encoded.indices)


def _cast_to_texts(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Return the batch as ingest writes it: pandas has another type, and metadata of its own."""
    import pyarrow as pa

    return batch.cast(pa.schema([(name, pa.string()) for name in batch.schema.names]))


def _build_schemas(
    metadata: Sequence[str], is_generated: bool, has_sets: bool
) -> tuple["pa.Schema", "pa.Schema"]:
    """Return the schema of the examples and that of the manifest.

    Of sets of labels, both also have the labels one by one.
    """
    import pyarrow as pa

    text = pa.string()
    metadata_fields = [(name, text) for name in metadata]
    if has_sets:
        metadata_fields.append((LABEL_SET, text))
    example = [("id", text), ("text", text), ("label", text)]
    row = [("id", text), ("split", text), ("label", text), ("length", pa.int64()), ("digest", text)]
    row.append((CONTENT_DIGEST, text))
    flags = [("decoded", pa.bool_()), ("truncated", pa.bool_())]
    if is_generated:
        flags.append(("noisy", pa.bool_()))
    return pa.schema(example + metadata_fields), pa.schema(row + metadata_fields + flags)
