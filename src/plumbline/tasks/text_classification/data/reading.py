"""The source is read once, a part at a time.

What follows from a row alone is computed then, and rows wait in a database, as what depends on
all rows is known once all are read. Whether a label such as `none` is missing is known then too: it
is refused after all other faults.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from plumbline.sources.source_part import SourcePart
from plumbline.tables.records import ReadRequest, SourceRow, WantedColumn
from plumbline.tasks.text_classification.data.generated import GeneratedRow
from plumbline.tasks.text_classification.data.label_cells import LabelCell, LabelCells
from plumbline.tasks.text_classification.data.labels import is_null_like
from plumbline.tasks.text_classification.data.normalisation import digest_forms
from plumbline.tasks.text_classification.data.policies import refuse_null
from plumbline.tasks.text_classification.data.source_rows import ReadRow, find_divider
from plumbline.tasks.text_classification.data.splits import find_point
from plumbline.tasks.text_classification.data.survey import SourceSurvey
from plumbline.tasks.text_classification.params import TextParams


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
                yield self._drop("text", text, place, part.split)
            elif found is None:
                yield self._drop("label", None, place, part.split)
            else:
                values = row.values[1 + cells.num_cells :]
                read = _complete_row(
                    row, place, part.split, text, found, values, policies.max_chars
                )
                point = None
                if has_points:
                    value = read.get_value(divider, cells.join(found.labels))
                    point = find_point(self.params.data.split, read.digest, value, place)
                survey.add(place, found.labels, point)
                yield read

    def _drop(self, column: str, value: str | None, place: str, given: str | None) -> ReadRow:
        """Return the row without what it says, under the first of its columns that is null."""
        spelling = (value or "").strip()
        if self.params.data.policies.nulls == "refuse":
            raise refuse_null(column, spelling, place)
        return ReadRow(place, f"null_{column}", spelling, given)


def _complete_row(
    row: SourceRow,
    place: str,
    given: str | None,
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
        given,
        text,
        digest,
        compact,
        row.decoded or found.decoded,
        truncated,
        "\0" in text,
        row.noisy if isinstance(row, GeneratedRow) else None,
        tuple(value or "" for value in values),
    )
