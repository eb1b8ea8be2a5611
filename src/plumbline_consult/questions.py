"""Read a file of questions; their ids join the gold answers later."""

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
    remedy = "name the column with --question-column or --id-column"
    columns = [WantedColumn(question_column, "--question-column", remedy=remedy)]
    if id_column:
        columns.append(WantedColumn(id_column, "--id-column", remedy=remedy))
    request = ReadRequest(tuple(columns), refuse_encoding=True)
    questions: dict[str, Question] = {}
    for part in locate_parts([(None, str(path))], {}):
        for row in part.read_rows(request):
            place = f"{part.name}, row {row.number}"
            question = _build_question(row.values[0], row.values[-1] if id_column else None, place)
            same = questions.setdefault(question.id, question)
            if same.text != question.text and id_column:
                raise DataError(f"{place}: the id {question.id!r} is that of another question too")
    if not questions:
        raise DataError(f"{path}: no questions")
    return list(questions.values())


def _build_question(text: str | None, name: str | None, place: str) -> Question:
    if not text or not text.strip():
        raise DataError(f"{place}: the question is empty; remove the row")
    return Question(name or name_question(text), text)
