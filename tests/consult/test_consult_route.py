"""`plumbline serve --agents`: the route /consult of the real server, with real agents behind it."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.consulting.chat_server import ChatServer, run_chat_server
from tests.support.consulting.questions import build_config, describe_endpoint
from tests.support.made_once import make_once
from tests.support.serving.lines import Lines, Server, is_ready, serving
from tests.support.serving.load import list_workers
from tests.support.serving.models import line_task, register_other

from tasks.answer_consensus.task import TASK

# MLflow, in this process, warns about its own libraries.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
KEY = "sk-live-0123456789abcdef"
JSON = {"content_type": "application/json"}
CHAMPION = "models:/policy@champion"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Lines:
    """A registry with a champion, a policy over three agents."""
    return Lines(make_once(tmp_path_factory, worker_id, "registered-policy", register_champion))


def register_champion(folder: Path) -> None:
    outputs = {"ask": ["a"], "answer": [""], "confidence": [0.0], "votes": [[]]}
    with pytest.MonkeyPatch.context() as patch, Lines(folder).here():
        _, line = line_task(patch)
        task = replace(
            line,
            signature=TASK.signature,
            example=TASK.example,
            faulty={},
            predictor=TASK.predictor,
        )
        register_other("policy", task, build_config(["a", "b", "c"]), outputs, "config.json")


@pytest.fixture(scope="module")
def chat() -> Iterator[ChatServer]:
    with run_chat_server() as chat:
        yield chat


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files of one server; the registry is that of all processes."""
    return tmp_path_factory.mktemp("consult")


@pytest.fixture(scope="module")
def server(registry: Lines, chat: ChatServer, folder: Path) -> Iterator[Server]:
    path = write_agents(folder, chat, "a", "b", "c", max_questions=1)
    options = ["--agents", str(path), "--records", str(folder / "answers.jsonl")]
    with serving(registry, *options, uri=CHAMPION, CHAT_KEY=KEY) as server:
        yield server
        assert KEY not in server.log.read_text()


@pytest.fixture(autouse=True)
def scripts(chat: ChatServer) -> None:
    chat.scripts = {"a": ["say 41"], "b": ["say 42"], "c": ["say 42"]}
    chat.release.clear()


def write_agents(folder: Path, chat: ChatServer, *names: str, **more: Any) -> Path:
    agents = {name: describe_endpoint(chat.url, name, key_env="CHAT_KEY") for name in names}
    path = folder / f"agents-{'-'.join(names)}.yaml"
    path.write_text(json.dumps({"deadline_s": 20.0, **more, "agents": agents}))
    return path


def ask(server: Server, body: Any) -> tuple[int, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body)
    status, _, answer = server.ask("POST", "/consult", raw, **JSON)
    return status, json.loads(answer)


def test_the_served_policy_asks_agents(server: Server, folder: Path) -> None:
    status, value = ask(server, {"question": "What is 6 * 7?", "question_id": "q1"})
    assert (status, value["answer"], value["ending"]) == (200, "42", "decided")
    assert [one["agent"] for one in value["asked"]] == ["a", "b", "c"]
    assert value["cost"] == pytest.approx(0.006)
    lines = (folder / "answers.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [(r["question_id"], r["agent"], r["answer"]) for r in records][-3:] == [
        ("q1", "a", "41"),
        ("q1", "b", "42"),
        ("q1", "c", "42"),
    ]
    assert records[-1]["policy"] == "policy version 1"


def test_agents_that_fail_are_in_the_answer(server: Server, chat: ChatServer) -> None:
    chat.scripts["a"] = ["echo-key 401"]
    status, value = ask(server, {"question": "What is 6 * 7?"})
    assert (status, value["answer"]) == (200, "42")
    assert "the key was not accepted" in value["asked"][0]["message"]
    assert KEY not in json.dumps(value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "invalid body"),
        ([], "expected an object with question"),
        ({"question": "a", "model": "b"}, "expected an object with question"),
        ({}, "question: expected text"),
        ({"question": " "}, "question: expected text"),
        ({"question": 7}, "question: expected text"),
        ({"question": "a", "question_id": ""}, "question_id: expected text"),
    ],
)
def test_a_body_that_is_not_a_question(server: Server, body: Any, words: str) -> None:
    status, value = ask(server, body)
    assert (status, value["error_code"]) == (400, "BAD_REQUEST")
    assert words in value["message"]


@contextmanager
def asking(server: Server) -> Iterator[Any]:
    """A request in progress, whose connection is closed at the end of the block."""
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", server.port, timeout=600)
    body = json.dumps({"question": "What is 6 * 7?"})
    connection.request("POST", "/consult", body, {"content-type": "application/json"})
    try:
        yield connection
    finally:
        connection.close()


def test_more_questions_than_are_allowed_are_refused_at_once(
    server: Server, chat: ChatServer
) -> None:
    chat.scripts["a"] = ["hold 42"]
    num_before = chat.count("a")
    with asking(server) as first:
        server.wait(lambda: chat.count("a") > num_before)
        status, value = ask(server, {"question": "Another?"})
        assert (status, value["error_code"]) == (429, "OVERLOADED")
        chat.release.set()
        assert first.getresponse().status == 200


def test_when_a_client_leaves_nobody_more_is_asked(server: Server, chat: ChatServer) -> None:
    chat.scripts["a"] = ["hold 42"]
    num_before = {name: chat.count(name) for name in "ab"}
    with asking(server):
        server.wait(lambda: chat.count("a") > num_before["a"])
    chat.release.set()
    server.wait(lambda: ask(server, {"question": "Another?"})[0] == 200)  # its place is free
    assert chat.count("b") == num_before["b"] + 1  # for the second question


def test_the_route_is_described(server: Server) -> None:
    paths = json.loads(server.ask("GET", "/openapi.json")[2])["paths"]
    schema = paths["/consult"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["required"] == ["question"]


def test_a_server_that_cannot_consult_does_not_start(
    registry: Lines, chat: ChatServer, tmp_path: Path
) -> None:
    options = ["--agents", str(write_agents(tmp_path, chat, "a", "b"))]
    with serving(registry, *options, uri=CHAMPION, ready=False, CHAT_KEY=KEY) as server:
        assert server.process.wait(timeout=600) != 0
        said = server.log.read_text()
    assert "the policy may ask for c; describe them there" in said


def test_a_worker_that_cannot_read_the_agents_later_does_not_stop_the_server(
    registry: Lines, chat: ChatServer, tmp_path: Path
) -> None:
    path = write_agents(tmp_path, chat, "a", "b", "c")
    with serving(registry, "--agents", str(path), uri=CHAMPION, CHAT_KEY=KEY) as server:
        path.write_text("agents: {}")
        (worker,) = list_workers(server.process.pid)
        os.kill(int(worker), signal.SIGKILL)
        server.wait(lambda: set(list_workers(server.process.pid)) - {worker} and is_ready(server))
        status, value = ask(server, {"question": "What is 6 * 7?"})
        assert (status, value["error_code"]) == (503, "NOT_CONSULTED")
        assert "restart the server" in value["message"]
        assert ".yaml: 1 problem" in server.log.read_text()
