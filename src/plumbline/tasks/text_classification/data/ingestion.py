"""From any source to examples and a manifest: in constant memory, the same bytes every time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.sources.parts import locate_parts
from plumbline.sources.records import ReadRequest, SourcePart, WantedColumn
from plumbline.sources.shard_store import ShardStore
from plumbline.tasks.text_classification.data.copies import HeldOutRows
from plumbline.tasks.text_classification.data.generated import build_generated_part
from plumbline.tasks.text_classification.data.label_cells import LabelCells
from plumbline.tasks.text_classification.data.labels import LabelNames
from plumbline.tasks.text_classification.data.policies import (
    PolicyCounts,
    TextExample,
    read_examples,
)
from plumbline.tasks.text_classification.data.splits import AssignSplit, find_point, plan_splits
from plumbline.tasks.text_classification.data.storage import ExampleWriter
from plumbline.tasks.text_classification.data.summary import Summary
from plumbline.tasks.text_classification.data.survey import SourceSurvey
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
    """Write the shards of `examples` with their listing, and `manifest`; return data/source.json.

    Examples have the columns id, text, label and the metadata columns, all text, and where rows
    have sets of labels also `label_set`, the labels as a JSON list. The manifest has
    one row for each, in the order they were read: id (<file name>:<row>), split, label, length
    (characters), digest, the metadata columns, `decoded` (bytes were replaced), `truncated` and,
    for generated data only, `noisy` (the label is not the true one; it is not among the examples,
    so that no candidate can learn from it).

    Raises DataError for a source or row that cannot be used, and ParamsError where params do not
    fit the source.
    """
    shards = params.data.shards
    store = None if shards is None else ShardStore(shards)
    parts = _list_parts(params)
    request = _build_request(params)
    cells = LabelCells(params.data.columns)
    survey = _collect_survey(parts, params, request, cells)
    names = survey.name_labels()
    assign = plan_splits(
        params.data.split,
        {part.split for part in parts},
        lambda: _read_dividers(parts, params, request, cells, names),
        survey.collect_points(names),
    )
    counts = PolicyCounts()
    summary = Summary()
    held_out = HeldOutRows()
    with ExampleWriter(
        examples,
        manifest,
        params.data.columns.metadata,
        is_generated=params.data.source == "generated",
        has_sets=cells.has_sets,
        store=store,
    ) as writer:
        for part in parts:
            num_before = counts.num_rows
            for example in read_examples(part, params.data.policies, request, cells, counts, names):
                split = _choose_split(part, example, params, assign)
                if held_out.is_copy(example, split):
                    counts.counts["copy"].add(example.id)
                elif not _is_leaked(example, split, survey, counts):
                    writer.add(split, example)
                    summary.add(split, example)
            if counts.num_rows == num_before:
                raise DataError(
                    f"{part.name}: 0 rows below the header; "
                    "fill the file, or leave it out of data.source"
                )
    notices = [*request.notices, *names.describe()]
    return summary.build_facts(params, parts, counts, notices)


def _list_parts(params: TextParams) -> list[SourcePart]:
    source = params.data.source
    if source == "generated":
        locate_parts([], params.data.sha256)  # refuses pinned digests: there is no file
        return [build_generated_part(params)]
    if isinstance(source, str):
        return locate_parts([(None, source)], params.data.sha256)
    return locate_parts(source.list_given().items(), params.data.sha256)


def _build_request(params: TextParams) -> ReadRequest:
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
        wanted.append(WantedColumn(name, "data.columns.metadata", remedy=remedy))
    divider = params.data.split.column
    if divider is not None and divider not in [column.name for column in wanted]:
        wanted.append(WantedColumn(divider, "data.split.column"))
    return ReadRequest(tuple(wanted), params.data.policies.encoding == "refuse")


def _choose_split(
    part: SourcePart, example: TextExample, params: TextParams, assign: AssignSplit
) -> str:
    """The split that the source gives; rows of train may be divided further."""
    if part.split in ("validation", "test"):
        return part.split
    return assign(example.digest, _get_divider(example, params), example.id)


def _is_leaked(
    example: TextExample, split: str, survey: SourceSurvey, counts: PolicyCounts
) -> bool:
    """Whether the text is in a later split, where data.policies.leakage drops such rows."""
    copy = survey.find_copy(example, split)
    if copy is not None:
        counts.counts["leaked"].add(f"{example.id} (as {copy})")
    return copy is not None


def _get_divider(example: TextExample, params: TextParams) -> str | None:
    """The value of data.split.column; None where splits go by text."""
    column = params.data.split.column
    columns = params.data.columns
    if column is None:
        return None
    if column == columns.text:
        return example.text
    if column == columns.label:
        return example.label
    if column in columns.metadata:
        return example.values[columns.metadata.index(column)]
    return example.values[-1]


def _collect_survey(
    parts: list[SourcePart], params: TextParams, request: ReadRequest, cells: LabelCells
) -> SourceSurvey:
    """Read the source once for what depends on all of its rows: names of labels, even splits."""
    silent = ReadRequest(request.columns, request.refuse_encoding)
    split = params.data.split
    given = {part.split for part in parts}
    is_divided = split.by != "time" and not given >= {"train", "validation", "test"}
    survey = SourceSurvey()
    for part in parts:
        divides = is_divided and part.split in (None, "train")
        for example in read_examples(part, params.data.policies, silent, cells, PolicyCounts()):
            point = None
            if divides:
                divider = _get_divider(example, params)
                point = find_point(split, example.digest, divider, example.id)
            survey.add(example, point)
            if part.split in ("validation", "test") and params.data.policies.leakage == "drop":
                survey.add_held_out(example, part.split)
    survey.check_columns()
    return survey


def _read_dividers(
    parts: list[SourcePart],
    params: TextParams,
    request: ReadRequest,
    cells: LabelCells,
    names: LabelNames,
) -> Iterator[tuple[str | None, str]]:
    """Read the source once for the values that rows are divided by, each with its place."""
    silent = ReadRequest(request.columns, request.refuse_encoding)
    policies = params.data.policies
    for part in parts:
        if part.split in (None, "train"):
            for example in read_examples(part, policies, silent, cells, PolicyCounts(), names):
                yield _get_divider(example, params), example.id
