"""The source is read once, a piece at a time, by the processes of an engine.

What follows from a row alone is computed there, and rows wait in files of the engine's folder. What
depends on all rows is surveyed in each piece and merged in their order, so neither the number of
pieces nor of processes changes anything. A fault of a piece is raised when it is its turn: so it is
the first one of the source. Whether a label such as `none` is missing is known once all rows are
read: it is refused after all other faults.
"""

import collections
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.engine import LocalEngine, get_engine
from plumbline.contract.errors import DataError
from plumbline.contract.rows import store_part
from plumbline.sources.source_part import SourcePart
from plumbline.tables.records import ReadRequest, ReadRows, SourceRow, WantedColumn
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

MANY_PARTS = 100  # as many are not cut: they give all processes something to do as they are
# Their surveys are in memory together, half a megabyte each, and a fault ends the reading.
PIECES_AT_ONCE = 200


@dataclass
class PartRows:
    """The rows of a part, where they wait."""

    part: SourcePart
    num_rows: int = 0  # with those that are dropped
    pieces: "list[Callable[[], Iterator[pa.RecordBatch]]]" = field(default_factory=list)

    def read_batches(self) -> "Iterator[pa.RecordBatch]":
        """Yield the rows in order, with the columns of `source_rows`."""
        for read_batches in self.pieces:
            yield from read_batches()


@dataclass(frozen=True)
class SourcePiece:
    """Rows of a part that one process reads, and the file that it puts them into."""

    part: SourcePart
    read_rows: ReadRows
    path: Path


@dataclass(frozen=True)
class PieceReading:
    """What is known of the rows of a piece, and what yields them; or their first fault."""

    survey: SourceSurvey  # of the rows before it, if there is one
    outcome: "Callable[[], Iterator[pa.RecordBatch]] | DataError"


@dataclass(frozen=True)
class PieceReader:
    """Reads pieces of the source, in any process."""

    params: TextParams
    columns: tuple[WantedColumn, ...]
    has_points: bool  # rows without a given split are on the line that is divided

    @cached_property
    def num_values(self) -> int:
        """How many columns follow text and label."""
        return len(self.columns) - 1 - len(self.params.data.columns.list_labels())

    def read(self, piece: SourcePiece) -> PieceReading:
        """Read all rows of a piece, or those before the first fault."""
        survey = SourceSurvey()
        batches = batch_rows(self.read_rows(piece, survey), self.num_values)
        try:
            return PieceReading(survey, store_part(piece.path, batches))
        except DataError as error:
            return PieceReading(survey, error)

    def read_rows(self, piece: SourcePiece, survey: SourceSurvey) -> Iterator[ReadRow]:
        """Yield the rows of a piece; `survey` knows each of them then.

        Raises DataError for a row that cannot be used, or that params refuse.
        """
        part = piece.part
        policies = self.params.data.policies
        cells = LabelCells(self.params.data.columns)
        divider = find_divider(self.params)
        has_points = self.has_points and part.split in (None, "train")
        request = ReadRequest(self.columns, policies.encoding == "refuse", survey.notices)
        for row in piece.read_rows(request):
            survey.num_rows += 1
            place = f"{part.name}:{row.number}"
            text = row.values[0]
            found = cells.read(row.values[1 : 1 + cells.num_cells], place)
            if text is None or is_null_like(text):
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
    parts: Sequence[SourcePart], reader: PieceReader, folder: Path
) -> tuple[SourceSurvey, list[PartRows]]:
    """Read all parts; return what is known of all rows together, and the rows of each part.

    Raises the first DataError of the source, but for labels without a name.
    """
    sources = [PartRows(part) for part in parts]
    owners: list[PartRows] = []
    pieces: list[SourcePiece] = []
    for rows in sources:
        for read_rows in _cut_part(rows.part, len(parts)):
            owners.append(rows)
            pieces.append(SourcePiece(rows.part, read_rows, folder / f"{len(pieces):06}.arrow"))
    survey = SourceSurvey()
    for rows, piece, reading in zip(owners, pieces, _read_pieces(reader, pieces), strict=True):
        if not survey.num_rows:
            survey = reading.survey
        elif survey.has_room(reading.survey):
            survey.merge(reading.survey)
        else:  # this names the row with which there are too many labels
            collections.deque(reader.read_rows(piece, survey), maxlen=0)
        if isinstance(reading.outcome, DataError):
            raise reading.outcome
        rows.num_rows += reading.survey.num_rows
        rows.pieces.append(reading.outcome)
    return survey, sources


def _cut_part(part: SourcePart, num_parts: int) -> Sequence[ReadRows]:
    return [part.read_rows] if num_parts >= MANY_PARTS else part.list_pieces()


def _read_pieces(reader: PieceReader, pieces: Sequence[SourcePiece]) -> Iterator[PieceReading]:
    """Let the engine read them in order, but for files that only this machine has."""
    engine = get_engine()

    def is_shared(piece: SourcePiece) -> bool:
        return engine.is_local or piece.part.is_shared

    for shared, group in itertools.groupby(pieces, is_shared):
        chosen = engine if shared else LocalEngine()
        while own := list(itertools.islice(group, PIECES_AT_ONCE)):
            yield from chosen.run(reader.read, own)


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
