"""Read a file of questions; their ids join the gold answers later."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from plumbline.contract.errors import DataError
from plumbline.sources.parts import locate_parts
from plumbline.tables.records import ReadRequest, WantedColumn
from plumbline_consult.consultation import Question


def read_questions(path: Path) -> list[Question]:
    """Read the columns question_id and question of `path`.

    Raises DataError, which names file and row, for a file that cannot be read, an empty cell, and
    an id of two different questions. A question that occurs twice is asked once.
    """
    questions: dict[str, Question] = {}
    for place, (name, text) in read_columns(path, ["question_id", "question"]):
        if not name or not text or not text.strip():
            raise DataError(f"{place}: the question or its id is empty; remove the row")
        if questions.setdefault(name, Question(name, text)).text != text:
            raise DataError(f"{place}: the id {name!r} is that of another question too")
    if not questions:
        raise DataError(f"{path}: no questions")
    return list(questions.values())


def read_columns(path: Path, names: list[str]) -> Iterator[tuple[str, Sequence[str | None]]]:
    """Yield place and values of each row of a .csv, .jsonl or .parquet file."""
    remedy = f"give a file with the columns {' and '.join(names)}"
    columns = tuple(WantedColumn(name, "", remedy=remedy) for name in names)
    request = ReadRequest(columns, refuse_encoding=True)
    for part in locate_parts([(None, str(path))], {}):
        for row in part.read_rows(request):
            yield f"{part.name}, row {row.number}", row.values
