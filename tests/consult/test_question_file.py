"""The questions of a file: whole texts, whatever columns the file has."""

from pathlib import Path

import pytest

from plumbline.contract.errors import DataError
from plumbline_consult.questions import read_questions

TEXTS = ["What is two plus two?", "Where is it?", "What is two plus two?"]


@pytest.mark.parametrize("name", ["q.csv", "q.jsonl"])
def test_questions_without_an_id_column_are_whole_and_asked_once(tmp_path: Path, name: str) -> None:
    lines = [f'{{"question": "{text}"}}' for text in TEXTS]
    if name == "q.csv":
        lines = ["question", *TEXTS]
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    questions = read_questions(tmp_path / name, "question", "")
    assert [question.text for question in questions] == TEXTS[:2]
    assert len({question.id for question in questions}) == 2


def test_an_id_of_two_questions_is_refused_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("id,question\n1,What is it?\n1,Where is it?\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"q\.csv, row 3: the id '1' is that of another question"):
        read_questions(path, "question", "id")
