"""Records: whole lines only, from several processes at once, on a full disk."""

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from tests.support.consulting.questions import QUESTION

from plumbline.contract.errors import PlumblineError
from plumbline_consult.answer_records import AnswerRecords
from plumbline_consult.calling import AgentOutcome
from plumbline_consult.consultation import Course

NUM_WRITERS = 4
NUM_LINES = 50


def build_outcome(answer: str = "42") -> AgentOutcome:
    return AgentOutcome("one", answer, tokens=15, cost=0.002, seconds=0.5)


def append(path: Path, answer: str = "42") -> None:
    course = Course(QUESTION, deadline=0.0, max_cost=1.0, asks_all=False)
    AnswerRecords(path, "policy", "number").append(course, build_outcome(answer))


def read(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    assert raw.endswith(b"\n")
    return [json.loads(line) for line in raw.splitlines()]


def append_many(path: Path, writer: int) -> None:
    for number in range(NUM_LINES):
        append(path, f"{writer}-{number} " + "x" * 5000)


def test_a_record_is_in_the_long_form(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers.jsonl"
    append(path, 'a "b"\nc \x1b[31m é')
    (record,) = read(path)
    assert record["answer"] == 'a "b"\nc \x1b[31m é'
    assert {key: record[key] for key in ("question_id", "agent", "tokens", "cost")} == {
        "question_id": "q1",
        "agent": "one",
        "tokens": 15,
        "cost": 0.002,
    }
    assert path.stat().st_mode & 0o077 == 0


def test_several_processes_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append_many, args=(path, n)) for n in range(NUM_WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    answers = {record["answer"].split()[0] for record in read(path)}
    expected = {f"{w}-{n}" for w in range(NUM_WRITERS) for n in range(NUM_LINES)}
    assert answers == expected


def test_a_last_line_without_its_newline_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    append(path)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    append(path)
    assert len(read(path)) == 2


@pytest.mark.parametrize("name", ["", "answers.jsonl/answers.jsonl"])
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "answers.jsonl").touch()
    with pytest.raises(PlumblineError, match="records cannot be written"):
        AnswerRecords(tmp_path / name, "policy", "number").check_writable()
