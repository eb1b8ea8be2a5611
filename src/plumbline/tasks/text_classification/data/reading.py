"""The source is read once, a part at a time; what follows from a row alone is computed then.

Rows wait in a database, as what depends on all rows is known once all are read. Whether a label
such as `none` is missing is known then too: it is refused after all other faults.
"""

from collections.abc import Iterable, Iterator

from plumbline.contract.errors import DataError
from plumbline.sources.source_part import SourcePart
from plumbline.tables.records import ReadRequest, WantedColumn
from plumbline.tasks.text_classification.data.label_cells import LabelCells
from plumbline.tasks.text_classification.data.label_sets import join_labels
from plumbline.tasks.text_classification.data.labels import is_null_like
from plumbline.tasks.text_classification.data.normalisation import digest_forms
from plumbline.tasks.text_classification.data.policies import refuse_null
from plumbline.tasks.text_classification.data.source_rows import ReadRow
from plumbline.tasks.text_classification.params import TextParams

MAX_CLASSES = 20_000  # with more, this is not a classification problem, whatever params say


class SourceReader:
    """Reads the parts of a source; then it knows how many rows each has, and readers' notices."""

    def __init__(
        self, params: TextParams, cells: LabelCells, columns: tuple[WantedColumn, ...]
    ) -> None:
        policies = params.data.policies
        self.num_rows: list[int] = []  # of each part
        self._request = ReadRequest(columns, policies.encoding == "refuse")
        self.notices = self._request.notices
        self._cells = cells
        self.num_values = len(columns) - 1 - cells.num_cells  # columns after text and label
        self._max_chars = policies.max_chars
        self._refuses_nulls = policies.nulls == "refuse"
        self._labels: set[str] = set()

    def read_parts(self, parts: Iterable[SourcePart]) -> Iterator[ReadRow]:
        """Yield the rows; raises DataError for one that cannot be used, or that params refuse."""
        for part in parts:
            self.num_rows.append(0)
            yield from self._read_part(part)

    def _read_part(self, part: SourcePart) -> Iterator[ReadRow]:
        for row in part.read_rows(self._request):
            self.num_rows[-1] += 1
            place = f"{part.name}:{row.number}"
            text, *values = row.values
            found = self._cells.read(values[: self._cells.num_cells], place)
            if text is None or is_null_like(text):
                label = found.text if found else ""
                yield self._drop("text", ReadRow(place, label, part.split, (text or "").strip()))
                continue
            if found is None:
                yield self._drop("label", ReadRow(place, "", part.split, ""))
                continue
            labels = self._cells.list_labels(found.text)
            self._labels.update(labels)
            if len(self._labels) > MAX_CLASSES:
                raise DataError(
                    f"{place}: more than {MAX_CLASSES:,} different labels so far, "
                    f"such as {join_labels(labels)[:40]!r}; is data.columns.label the right column?"
                )
            cut = text[: self._max_chars]
            digest, compact = digest_forms(cut)
            yield ReadRow(
                place,
                found.text,
                part.split,
                cut,
                digest=digest,
                compact=compact,
                decoded=row.decoded or found.decoded,
                truncated=len(text) > len(cut),
                nul="\0" in cut,
                noisy=getattr(row, "noisy", None),  # of a GeneratedRow
                values=tuple(value or "" for value in values[self._cells.num_cells :]),
            )

    def _drop(self, column: str, row: ReadRow) -> ReadRow:
        """Mark the row as dropped, under the first of its columns that is null."""
        if self._refuses_nulls:
            raise refuse_null(column, row.text, row.id)
        return row._replace(dropped=f"null_{column}")
