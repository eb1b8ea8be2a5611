"""The questions of a file: whole texts; answers are compared as answer_consensus compares them."""

from pathlib import Path

import pytest

from plumbline.contract.errors import DataError, PlumblineError
from plumbline_consult.policy import NORMALISERS, load_normaliser
from plumbline_consult.questions import read_questions
from tasks.answer_consensus import predictor

ROWS = [("1", "What is two plus two?"), ("2", "Where is it?"), ("1", "What is two plus two?")]


@pytest.mark.parametrize("name", ["q.csv", "q.jsonl"])
def test_a_question_that_occurs_twice_is_asked_once(tmp_path: Path, name: str) -> None:
    lines = [f'{{"question_id": "{key}", "question": "{text}"}}' for key, text in ROWS]
    if name == "q.csv":
        lines = ["question_id,question", *(",".join(row) for row in ROWS)]
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    questions = read_questions(tmp_path / name)
    assert [(question.id, question.text) for question in questions] == ROWS[:2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("question_id,question\n1,What is it?\n1,Where is it?\n", "the id '1' is that of another"),
        ("question_id,question\n1,What is it?\n,Where is it?\n", "its id is empty; remove the row"),
    ],
)
def test_a_row_that_cannot_be_asked_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "q.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"q\.csv, row 3: .*{words}"):
        read_questions(path)


def test_a_file_without_the_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("id,question\n1,What is it?\n", encoding="utf-8")
    with pytest.raises(DataError, match="give a file with the columns question_id and question"):
        read_questions(path)


ANSWERS = ["", " Paris ", "paris\n is", "it is 1,024.50", "-0", "no 3 but 3.00004", "7" * 20_000]


def test_each_form_is_that_of_the_predictor() -> None:
    assert list(NORMALISERS) == list(predictor.NORMALISERS)
    for form, normalise in predictor.NORMALISERS.items():
        assert list(map(load_normaliser(form), ANSWERS)) == list(map(normalise, ANSWERS))


def test_another_form_is_refused() -> None:
    with pytest.raises(PlumblineError, match="expected one of exact, casefold, number"):
        load_normaliser("sound")
