"""`plumbline consult` and `plumbline grade` as a user runs them, against a real server."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import get_clean_environment
from tests.support.consulting.chat_server import ChatServer, run_chat_server
from tests.support.consulting.questions import describe_endpoint, write_policy
from tests.support.racing import TASK
from tests.support.small_answers import file_params
from tests.support.task_examples import write_examples
from typer.testing import CliRunner, Result

from plumbline import bundle
from plumbline.cli import app
from tasks.answer_consensus.data.storage import read_answers

KEY = "sk-live-0123456789abcdef"
QUESTION = "What is 6 * 7?"


@dataclass
class Desk:
    """A folder with a policy and agents.yaml, and the server behind its agents."""

    folder: Path
    chat: ChatServer
    printed: list[str] = field(default_factory=list)

    def write_agents(self, *names: str, **more: Any) -> None:
        """Write agents.yaml: models of the same names on the server."""
        agents = {
            name: describe_endpoint(self.chat.url, name, key_env="CHAT_KEY") for name in names
        }
        text = json.dumps({"deadline_s": 20.0, **more, "agents": agents})  # which is YAML too
        (self.folder / "agents.yaml").write_text(text, encoding="utf-8")

    def run(self, *words: str) -> Result:
        """Run a command in this process."""
        result = CliRunner().invoke(app, list(words))
        self.printed += [result.stdout, result.stderr, str(result.exception)]
        return result

    def consult(self, *words: str) -> Result:
        """Run `plumbline consult` with the policy."""
        return self.run("consult", "policy", "agents.yaml", *words)

    @property
    def records(self) -> list[dict[str, Any]]:
        """What was appended."""
        raw = (self.folder / "consultations.jsonl").read_bytes()
        assert raw.endswith(b"\n") or not raw
        return [json.loads(line) for line in raw.splitlines()]


@pytest.fixture
def desk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """It has agents a, b and c; no key is in anything that is printed or written."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    with run_chat_server(a=["say 41"], b=["say 42"], c=["say so: 42.0"]) as chat:
        desk = Desk(folder, chat)
        write_policy(folder / "policy", ["a", "b", "c"])
        desk.write_agents("a", "b", "c")
        yield desk
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert KEY not in "".join(desk.printed)
    assert not any(KEY.encode() in raw for raw in written)
    assert all(request.authorization == f"Bearer {KEY}" for request in chat.requests)


def test_the_answer_is_printed_and_its_course_beside_it(desk: Desk) -> None:
    result = desk.consult(QUESTION)
    assert (result.exit_code, result.stdout) == (0, "42\n")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("a: 41 (")
    assert lines[-1].startswith("confidence 0.82; 3 agents asked, $0.006000 for 45 tokens")
    assert [(record["agent"], record["answer"]) for record in desk.records] == [
        ("a", "41"),
        ("b", "42"),
        ("c", "42"),
    ]


def test_json_is_all_that_is_printed(desk: Desk) -> None:
    result = desk.consult(QUESTION, "--json")
    value = json.loads(result.stdout)
    assert result.stderr == ""
    assert (value["answer"], value["ending"], len(value["asked"])) == ("42", "decided", 3)
    assert value["cost"] == pytest.approx(sum(one["cost"] for one in value["asked"]))


def test_a_file_of_questions(desk: Desk) -> None:
    rows = "".join(f"q{number},What is {number}?\n" for number in range(20))
    (desk.folder / "asked.csv").write_text("question_id,question\n" + rows)
    result = desk.consult("--file", "asked.csv")
    assert result.exit_code == 0
    assert sorted(result.stdout.splitlines()) == sorted(f"q{n}\t42" for n in range(20))
    assert "20 of 20 questions answered, $0.12" in result.stderr
    assert len(desk.records) == 60


def test_without_a_policy_everyone_is_asked(desk: Desk) -> None:
    result = desk.run("consult", "all", "agents.yaml", QUESTION, "--normalise", "number")
    assert (result.exit_code, result.stdout) == (0, "42\n")
    assert {record["agent"] for record in desk.records} == {"a", "b", "c"}
    assert all(record["asks_all"] for record in desk.records)
    name = desk.records[0]["question_id"]
    (desk.folder / "gold.csv").write_text(f"question_id,gold\n{name},42\n")
    assert desk.run("grade", "consultations.jsonl", "--gold", "gold.csv").exit_code == 0


def test_answers_are_compared_as_the_policy_was_trained(desk: Desk) -> None:
    result = desk.consult(QUESTION, "--normalise", "exact")
    assert "--normalise exact: the policy was trained on number" in str(result.exception)


@pytest.mark.parametrize("words", [[], [QUESTION, "--file", "asked.csv"]])
def test_a_question_or_a_file(desk: Desk, words: list[str]) -> None:
    result = desk.consult(*words)
    assert "give a question, or a file of questions with --file" in str(result.exception)


def test_an_agent_that_fails_is_named_and_the_answer_comes(desk: Desk) -> None:
    desk.chat.scripts |= {"a": ["echo-key 401"], "b": ["echo-key 400"], "c": ["say 42"]}
    result = desk.consult(QUESTION)
    assert (result.exit_code, result.stdout) == (0, "42\n")
    assert "a: no answer (HTTP 401: the key was not accepted; check key_env)" in result.stderr
    assert "b: no answer (HTTP 400: Incorrect API key provided: Bearer [key])" in result.stderr


def test_no_agent_answers(desk: Desk) -> None:
    for name in "abc":
        desk.chat.scripts[name] = ["status 404"]
    result = desk.consult(QUESTION)
    assert (result.exit_code, result.stdout) == (1, "\n")
    assert "no answer: no agent gave an answer; 3 agents asked" in result.stderr


def test_what_an_agent_says_cannot_command_the_terminal(desk: Desk) -> None:
    """JSON need not escape C1 controls (CSI as one character), nor what turns the line around."""
    write_policy(desk.folder / "exact", ["a", "b", "c"], normalise="exact")
    said = "é \x9b2Jgone\x1b[31m \u202e \U000e0001 😀 Bearer [key]"
    for name in "abc":
        desk.chat.scripts[name] = [f"say {said.replace('[key]', KEY)}"]  # which is hidden
    result = desk.run("consult", "exact", "agents.yaml", QUESTION, "--json")
    assert result.stdout.rstrip("\n").isprintable()
    assert "é" in result.stdout
    assert json.loads(result.stdout)["answer"] == said
    plain = desk.run("consult", "exact", "agents.yaml", QUESTION)
    assert (plain.stdout + plain.stderr).replace("\n", "").isprintable()


def test_an_agent_of_the_policy_is_missing(desk: Desk) -> None:
    desk.write_agents("a", "b", "d")
    result = desk.consult(QUESTION)
    message = str(result.exception)
    assert "the policy may ask for c; describe them there under these names" in message


def test_a_model_that_is_not_a_policy(desk: Desk) -> None:
    other = desk.folder / "other"
    other.mkdir()
    bundle.seal(other, TASK, "small")
    result = desk.run("consult", "other", "agents.yaml", QUESTION)
    assert "other: not a policy: it takes x and answers y" in str(result.exception)


def test_a_policy_that_is_not_there(desk: Desk) -> None:
    result = desk.run("consult", "models/st", "agents.yaml", QUESTION)
    assert "models/st: there is no such folder; expected models:/" in str(result.exception)


def test_ctrl_c_ends_with_130_and_whole_records(desk: Desk) -> None:
    desk.chat.scripts |= {"b": ["silent"]}
    program = str(Path(sys.executable).with_name("plumbline"))
    command = [program, "consult", "policy", "agents.yaml", QUESTION]
    environment = get_clean_environment() | {"CHAT_KEY": KEY}
    process = subprocess.Popen(
        command,
        cwd=desk.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(2):  # a has answered, b is being asked
        assert desk.chat.arrived.acquire(timeout=600)
    os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=600)
    desk.printed += [stdout, stderr]
    assert process.returncode == 130, stderr
    assert stderr.splitlines()[-1] == (
        "plumbline: interrupted; what was answered is in consultations.jsonl"
    )
    assert "Traceback" not in stderr
    assert [record["agent"] for record in desk.records] == ["a"]


def test_graded_records_are_what_the_task_reads(desk: Desk) -> None:
    desk.chat.scripts["b"] = ["say 42", "status 404"] * 15
    rows = "".join(f"q{number},What is {number}?\n" for number in range(30))
    (desk.folder / "asked.csv").write_text("question_id,question\n" + rows)
    options = ["--file", "asked.csv", "--normalise", "number"]
    assert desk.run("consult", "all", "agents.yaml", *options).exit_code == 0
    gold = "".join(f"q{number},42\n" for number in range(30))
    (desk.folder / "gold.csv").write_text("question_id,gold\n" + gold)
    desk.run("grade", "consultations.jsonl", "--gold", "gold.csv")
    params = file_params(Path("graded.csv"), {"a": "a", "b": "b", "c": "c"}, normalise="number")
    examples = write_examples(params, desk.folder)
    answers = [read_answers(examples, split) for split in ("train", "validation", "test")]
    assert sum(len(part.ids) for part in answers) == 30
    assert sum(sum(part.answers[:, 1] == "") for part in answers) == 15  # b failed on these


def test_questions_that_were_not_put_to_all_are_left_out(desk: Desk) -> None:
    desk.chat.scripts["a"] = ["say 42"]
    desk.consult("One?")
    desk.consult("Two?", "--ask-all")
    ids = dict.fromkeys(record["question_id"] for record in desk.records)
    desk.consult("Three?", "--ask-all")
    text = "question_id,gold\n" + "".join(f"{name},42\n" for name in ids)
    (desk.folder / "gold.csv").write_text(text)
    result = desk.run("grade", "consultations.jsonl", "--gold", "gold.csv")
    assert "not put to every agent, left out (ask with --ask-all" in result.stdout
    assert "questions without a gold answer: 1 (" in result.stdout
    with (desk.folder / "graded.csv").open(newline="") as file:
        assert {row["question"] for row in csv.DictReader(file)} == {"Two?"}


def test_an_id_of_two_questions_is_left_out_and_named(desk: Desk) -> None:
    """A client of the server chooses ids: the gold answer of q0 is not that of what it asked."""
    desk.chat.scripts["a"] = ["say 42"]
    options = ["--file", "asked.csv", "--ask-all"]
    for questions in ("q0,What is 1 + 1?", "q0,What is 6 * 7?\nq1,And 7?", "q1, and  7?"):
        (desk.folder / "asked.csv").write_text(f"question_id,question\n{questions}\n")
        assert desk.consult(*options).exit_code == 0
    # q0 twice: the same number in another form
    (desk.folder / "gold.csv").write_text('question_id,gold\nq0,"1,000"\nq0,1000.0\nq1,7\n')
    result = desk.run("grade", "consultations.jsonl", "--gold", "gold.csv")
    assert result.exit_code == 0
    with (desk.folder / "graded.csv").open(newline="") as file:
        graded = {(row["question_id"], row["question"]) for row in csv.DictReader(file)}
    assert graded == {("q1", "And 7?")}  # case and blanks make no other question
    assert (
        "more than one question, left out (keep the lines of one in RECORDS): 1 (q0)"
        in result.stdout
    )


@pytest.mark.parametrize(
    ("gold", "words"),
    [
        ("question_id,right\nq,1\n", "no column 'gold'"),
        ("question_id,gold\nq,1\nq,2\n", "gold.csv, row 3: the id 'q' has two gold answers"),
        ("question_id,gold\nq,\n", "no gold answers in the column 'gold'"),
        ("question_id,gold\nq,1\n", "no question has a gold answer and was put to every agent"),
    ],
)
def test_gold_that_cannot_be_joined(desk: Desk, gold: str, words: str) -> None:
    desk.consult(QUESTION)
    (desk.folder / "gold.csv").write_text(gold)
    result = desk.run("grade", "consultations.jsonl", "--gold", "gold.csv")
    assert words in str(result.exception)
    assert not (desk.folder / "graded.csv").exists()
