"""The source is read once, a part at a time.

What follows from a row alone is computed then, and rows wait in temporary files, as what depends on
all rows is known once all are read. Whether a label such as `none` is missing is known then too: it
is refused after all other faults.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.rows import store_part
from plumbline.sources.source_part import SourcePart
from plumbline.tables.records import ReadRequest, SourceRow, WantedColumn
from plumbline.tasks.text_classification.data.generated import GeneratedRow
from plumbline.tasks.text_classification.data.label_cells import LabelCell, LabelCells
from plumbline.tasks.text_classification.data.labels import is_null_like
from plumbline.tasks.text_classification.data.normalisation import digest_forms
from plumbline.tasks.text_classification.data.policies import refuse_null
from plumbline.tasks.text_classification.data.source_rows import (
    ReadRow,
    batch_rows,
    find_divider,
)
from plumbline.tasks.text_classification.data.splits import find_point
from plumbline.tasks.text_classification.data.survey import SourceSurvey
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class PartRows:
    """The rows of a part, where they wait."""

    part: SourcePart
    num_rows: int  # with those that are dropped
    # Yields them in order, with the columns of `source_rows`.
    read_batches: "Callable[[], Iterator[pa.RecordBatch]]"


@dataclass(frozen=True)
class PartReader:
    """Reads parts of the source."""

    params: TextParams
    columns: tuple[WantedColumn, ...]
    has_points: bool  # rows without a given split are on the line that is divided

    @cached_property
    def num_values(self) -> int:
        """How many columns follow text and label."""
        return len(self.columns) - 1 - len(self.params.data.columns.list_labels())

    def read(self, part: SourcePart, survey: SourceSurvey, path: Path) -> PartRows:
        """Read all rows of a part, which wait in `path`; raises its first DataError."""
        before = survey.num_rows
        batches = batch_rows(self.read_rows(part, survey), self.num_values)
        read_batches = store_part(path, batches)
        return PartRows(part, survey.num_rows - before, read_batches)

    def read_rows(self, part: SourcePart, survey: SourceSurvey) -> Iterator[ReadRow]:
        """Yield the rows of a part; `survey` knows each of them then.

        Raises DataError for a row that cannot be used, or that params refuse.
        """
        policies = self.params.data.policies
        cells = LabelCells(self.params.data.columns)
        divider = find_divider(self.params)
        has_points = self.has_points and part.split in (None, "train")
        request = ReadRequest(self.columns, policies.encoding == "refuse", survey.notices)
        for row in part.read_rows(request):
            survey.num_rows += 1
            place = f"{part.name}:{row.number}"
            text = row.values[0]
            found = cells.read(row.values[1 : 1 + cells.num_cells], place)
            if text is None or is_null_like(text):
                survey.add_dropped(() if found is None else found.labels, text)
                yield self._drop("text", text, place)
            elif found is None:
                yield self._drop("label", None, place)
            else:
                values = row.values[1 + cells.num_cells :]
                read = _complete_row(row, place, text, found, values, policies.max_chars)
                point = None
                if has_points:
                    value = read.get_value(divider, cells.join(found.labels))
                    point = find_point(self.params.data.split, read.digest, value, place)
                survey.add(place, found.labels, read.digest, point)
                yield read

    def _drop(self, column: str, value: str | None, place: str) -> ReadRow:
        """Return the row without what it says, under the first of its columns that is null."""
        spelling = (value or "").strip()
        if self.params.data.policies.nulls == "refuse":
            raise refuse_null(column, spelling, place)
        return ReadRow(
            place,
            f"null_{column}",
            spelling,
            text="",
            digest="",
            compact=0,
            decoded=False,
            truncated=False,
            has_nul=False,
            noisy=None,
            values=("",) * self.num_values,
        )


def read_source(
    parts: Sequence[SourcePart], reader: PartReader, folder: Path
) -> tuple[SourceSurvey, list[PartRows]]:
    """Read all parts; return what is known of all rows together, and the rows of each part.

    Raises the first DataError of the source, but for labels without a name.
    """
    survey = SourceSurvey()
    sources = [
        reader.read(part, survey, folder / f"{number:06}.arrow")
        for number, part in enumerate(parts)
    ]
    return survey, sources


def _complete_row(
    row: SourceRow,
    place: str,
    text: str,
    found: LabelCell,
    values: Sequence[str | None],
    max_chars: int,
) -> ReadRow:
    truncated = len(text) > max_chars
    if truncated:
        text = text[:max_chars]
    digest, compact = digest_forms(text)
    return ReadRow(
        place,
        None,
        found.text,
        text,
        digest,
        compact,
        row.decoded or found.decoded,
        truncated,
        "\0" in text,
        row.noisy if isinstance(row, GeneratedRow) else None,
        tuple(value or "" for value in values),
    )
