"""Read a file of questions; their ids join the gold answers later."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from plumbline.contract.errors import DataError
from plumbline.sources.parts import locate_parts
from plumbline.sources.records import ReadRequest, WantedColumn
from plumbline_consult.course import Question, name_question


def read_questions(path: Path, question_column: str, id_column: str) -> list[Question]:
    """Read the questions in `path`; without an id column, the id is made from the text.

    Raises DataError, which names file and row, for a file that cannot be read, an empty question
    and an id of two different questions. A question that occurs twice is asked once.
    """
    names = [question_column, id_column] if id_column else [question_column]
    questions: dict[str, Question] = {}
    for place, values in read_columns(path, names, "--question-column or --id-column"):
        text = values[0]
        if not text or not text.strip():
            raise DataError(f"{place}: the question is empty; remove the row")
        name = values[-1] if id_column else None
        question = Question(name or name_question(text), text)
        same = questions.setdefault(question.id, question)
        if same.text != question.text and id_column:
            raise DataError(f"{place}: the id {question.id!r} is that of another question too")
    if not questions:
        raise DataError(f"{path}: no questions")
    return list(questions.values())


def read_columns(
    path: Path, names: list[str], options: str
) -> Iterator[tuple[str, Sequence[str | None]]]:
    """Yield place and values of each row of a .csv, .jsonl or .parquet file.

    Raises DataError, which names the `options` to set where a column is missing.
    """
    remedy = f"name the column with {options}"
    columns = tuple(WantedColumn(name, options, remedy=remedy) for name in names)
    request = ReadRequest(columns, refuse_encoding=True)
    for part in locate_parts([(None, str(path))], {}):
        for row in part.read_rows(request):
            yield f"{part.name}, row {row.number}", row.values
