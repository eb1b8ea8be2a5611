"""From any source to examples and a manifest: in constant memory, the same bytes every time."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.sources.parts import locate_parts
from plumbline.sources.source_part import SourcePart
from plumbline.tables.records import WantedColumn
from plumbline.tasks.text_classification.data.division import RowDivision
from plumbline.tasks.text_classification.data.generated import build_generated_part
from plumbline.tasks.text_classification.data.label_cells import LabelCells
from plumbline.tasks.text_classification.data.later_texts import LaterTexts
from plumbline.tasks.text_classification.data.naming import RowNamer
from plumbline.tasks.text_classification.data.reading import PartReader, PartRows, read_source
from plumbline.tasks.text_classification.data.source_rows import DROPPED, find_divider
from plumbline.tasks.text_classification.data.splits import plan_splits
from plumbline.tasks.text_classification.data.storage import ExampleWriter
from plumbline.tasks.text_classification.data.summary import Summary
from plumbline.tasks.text_classification.params import TextParams

TEXT_SYNONYMS = (
    "sentence",
    "utterance",
    "query",
    "message",
    "content",
    "body",
    "review",
    "question",
    "title",
    "description",
)
LABEL_SYNONYMS = (
    "category",
    "class",
    "intent",
    "target",
    "topic",
    "tag",
    "y",
    "sentiment",
    "label_name",
)


def ingest(params: TextParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write the files of `examples`, and `manifest`; return data/source.json.

    Examples have the columns id, text, label and the metadata columns, all text, and where rows
    have sets of labels also `label_set`, the labels as a JSON list. The manifest has
    one row for each, in the order they were read: id (<part name>:<row>), split, label, length
    (characters), digest, content_digest, the metadata columns, `decoded` (bytes were replaced),
    `truncated` and, for generated data only, `noisy` (the label is not the true one; it is not
    among the examples, so that no candidate can learn from it).

    The source is read once; its rows wait in temporary files.

    Raises DataError for a source or row that cannot be used, and ParamsError where params do not
    fit the source.
    """
    parts = _list_parts(params)
    given = {part.split for part in parts}
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        survey, sources = read_source(parts, _build_reader(params, given), Path(folder))
        survey.check_columns()
        survey.check_classes()
        names = survey.name_labels()
        cells = LabelCells(params.data.columns)
        namer = RowNamer(cells, names, params.data.policies.nulls)
        divider = find_divider(params)
        assign = plan_splits(
            params.data.split,
            given,
            lambda: _read_dividers(sources, namer, divider),
            survey.collect_points(names),
        )
        later = LaterTexts()
        if params.data.policies.leakage == "drop":
            _collect_later_texts(sources, RowNamer(cells, names, nulls="drop"), later)
        division = RowDivision(assign, divider, later)
        summary = Summary(has_sets=params.data.columns.has_label_sets)
        with ExampleWriter(
            examples,
            manifest,
            params.data.columns.metadata,
            is_generated=params.data.source == "generated",
            has_sets=params.data.columns.has_label_sets,
        ) as writer:
            for source in sources:
                for batch in namer.name_batches(source.read_batches()):
                    rows = division.divide(batch, source.part.split)
                    writer.add(rows)
                    summary.add(rows)
    notices = [*survey.notices, *names.describe(), *_describe_empty(sources)]
    return summary.build_facts(params, parts, division.counts, notices)


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
    wanted = [
        WantedColumn(columns.text, "data.columns.text", TEXT_SYNONYMS),
    ]
    for name in columns.list_labels():
        is_list = columns.label_separator is not None
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


def _build_reader(params: TextParams, given: set[str | None]) -> PartReader:
    is_divided = params.data.split.by != "time" and not given >= set(SPLITS)
    return PartReader(params, _list_columns(params), is_divided)


def _collect_later_texts(sources: Iterable[PartRows], namer: RowNamer, later: LaterTexts) -> None:
    """Read the parts whose split is validation or test; what params refuse is found later."""
    for source in sources:
        if source.part.split in ("validation", "test"):
            later.add(source.part.split, namer.name_batches(source.read_batches()))


def _describe_empty(sources: Sequence[PartRows]) -> Iterator[str]:
    """Name parts without rows; DataError where a split has no other part."""
    filled = {source.part.split for source in sources if source.num_rows}
    for source in sources:
        name = source.part.name
        if source.part.split not in filled:
            raise DataError(
                f"{name}: 0 rows below the header; fill the file, or leave it out of data.source"
            )
        if not source.num_rows:
            yield f"{name}: 0 rows"


def _read_dividers(
    sources: Iterable[PartRows], namer: RowNamer, divider: str | None
) -> Iterator[tuple[str | None, str]]:
    """Yield the values that rows are divided by, each with its place."""
    import pyarrow.compute as pc

    for source in sources:
        if divider is not None and source.part.split in (None, "train"):
            for batch in namer.name_batches(source.read_batches()):
                rows = batch.filter(pc.is_null(batch[DROPPED]))
                yield from zip(rows[divider].to_pylist(), rows["id"].to_pylist(), strict=True)
