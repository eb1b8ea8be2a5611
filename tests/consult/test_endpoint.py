"""Whatever a server does: a reply or an AgentError without a secret, and who is asked again."""

import asyncio
import sys
from collections.abc import Iterator

import pytest
from tests.support.consulting.chat_server import ChatServer, run_chat_server
from tests.support.consulting.questions import build_file, describe_endpoint

from plumbline.contract.errors import ParamsError
from plumbline_consult.agents import AgentEntry
from plumbline_consult.calling import AgentOutcome, Team
from plumbline_consult.chat_protocol import AgentError, Reply
from plumbline_consult.endpoint import EndpointClient

KEY = "sk-live-0123456789abcdef"
MESSAGES = [
    {"role": "system", "content": "Answer with a number."},
    {"role": "user", "content": "What is 6 * 7?"},
]


def build_agent(url: str, model: str = "m", key_env: str | None = "CHAT_KEY", **more: object):
    return AgentEntry.model_validate(
        {
            "base_url": url,
            "model": model,
            "key_env": key_env,
            "prompt": "{question}",
            "price": {"prompt": 0.1, "completion": 0.2},
            **more,
        }
    )


def respond(agent: AgentEntry) -> Reply:
    async def run() -> Reply:
        client = EndpointClient("one", agent)
        try:
            return await client.respond(MESSAGES)
        finally:
            await client.close()

    return asyncio.run(run())


def fail(agent: AgentEntry) -> AgentError:
    with pytest.raises(AgentError) as caught:
        respond(agent)
    return caught.value


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_KEY", KEY)


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with run_chat_server() as server:
        yield server


def test_a_request_has_the_prompt_the_key_and_the_options(chat: ChatServer) -> None:
    reply = respond(build_agent(chat.url, "42", body={"temperature": 0}))
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("42", 10, 5)
    (request,) = chat.requests
    assert request.path == "/v1/chat/completions"
    assert request.authorization == f"Bearer {KEY}"
    assert request.body["temperature"] == 0
    assert request.body["messages"] == MESSAGES


@pytest.mark.parametrize(
    ("behaviour", "may_retry", "words"),
    [
        ("status 429", True, "HTTP 429: try\ufffd[31m later"),
        ("status 500", True, "HTTP 500"),
        ("status 400", False, "HTTP 400"),
        ("echo-key 401", False, "the key was not accepted; check key_env"),
        ("echo-key 403", False, "may not use this model"),
        ("echo-key 404", False, "check model and base_url"),
        ("echo-key 500", True, "Incorrect API key provided: Bearer [key]"),
        ("close-mid-body", True, "ended before the response was complete"),
        ("not-json", False, "no text in choices"),
        ("raw {}", False, "no text in choices"),
        ('raw {"choices": [7]}', False, "choices[0].message.content"),
        ('raw {"choices": [{"message": {"content": null}}]}', False, "no text"),
        ("giant", False, "more than 1,000,000 bytes"),
        ("redirect http://127.0.0.1:9/v1", False, "redirect; write its address"),
    ],
)
def test_a_server_that_misbehaves(
    chat: ChatServer, behaviour: str, may_retry: bool, words: str
) -> None:
    chat.scripts["m"] = [behaviour]
    error = fail(build_agent(chat.url))
    assert error.may_retry == may_retry
    assert words in str(error)
    assert KEY not in str(error)
    assert str(error).isprintable()
    assert chat.count("m") == 1


def test_half_a_character_is_replaced(chat: ChatServer) -> None:
    """JSON may escape it; no file and no terminal takes it."""
    chat.scripts["m"] = ["say it is \ud83d 42 \ud83d"]
    assert respond(build_agent(chat.url)).text == "it is \ufffd 42 \ufffd"
    chat.scripts["m"] = ["say \ufeff\N{GRINNING FACE}"]
    assert respond(build_agent(chat.url)).text == "\ufeff\N{GRINNING FACE}"


@pytest.mark.parametrize("behaviour", ["cut 42", "say 42"])
def test_a_sound_answer_is_taken(chat: ChatServer, behaviour: str) -> None:
    chat.scripts["m"] = [behaviour]
    reply = respond(build_agent(chat.url))
    assert reply.text == "42"
    assert reply.is_truncated is behaviour.startswith("cut")


def test_tokens_that_are_not_stated_are_estimated(chat: ChatServer) -> None:
    chat.scripts["m"] = ["no-usage 42"]
    reply = respond(build_agent(chat.url))
    assert (reply.prompt_tokens, reply.completion_tokens) == (9, 1)


def test_nobody_listens() -> None:
    error = fail(build_agent("http://127.0.0.1:9/v1"))
    assert error.may_retry
    assert "unreachable" in str(error)


@pytest.mark.parametrize(
    ("value", "words"), [(None, "is not set"), (" ", "is not set"), ("a b", "contains blanks")]
)
def test_a_key_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, value: str | None, words: str
) -> None:
    monkeypatch.delenv("CHAT_KEY")
    if value is not None:
        monkeypatch.setenv("CHAT_KEY", value)
    with pytest.raises(ParamsError, match=words) as caught:
        EndpointClient("one", build_agent("http://127.0.0.1:9/v1"))
    assert "agents.one.key_env" in str(caught.value)


@pytest.mark.parametrize(
    "proxy", ["socks5://127.0.0.1:1080", "gopher://127.0.0.1:70", "http://127.0.0.1:80a"]
)
def test_a_proxy_that_cannot_be_used_is_refused(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)  # not installed
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(
        ParamsError, match=r"agents\.one: the proxy in ALL_PROXY.*: pip install socksio"
    ):
        EndpointClient("one", build_agent("http://127.0.0.1:1/v1"))


def ask(chat: ChatServer, *behaviours: str, attempts: int = 3) -> AgentOutcome:
    chat.scripts["m"] = list(behaviours)
    file = build_file({"one": describe_endpoint(chat.url, "m", attempts=attempts)})

    async def run() -> AgentOutcome:
        team = Team(file)
        deadline = asyncio.get_running_loop().time() + 60
        outcome = await team.callers["one"].ask("What is 6 * 7?", [], deadline, str.strip)
        await team.close()
        return outcome

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("behaviours", "attempts", "words", "num_asked"),
    [
        (("status 500", "close-mid-body", "say 42"), 3, "", 3),
        (("status 503",), 2, "HTTP 503", 2),
        (("status 400",), 3, "HTTP 400", 1),
        (("status 429 600",), 3, "HTTP 429", 1),  # nobody waits beyond the deadline
    ],
)
def test_it_asks_again_where_that_can_help(
    chat: ChatServer, behaviours: tuple[str, ...], attempts: int, words: str, num_asked: int
) -> None:
    outcome = ask(chat, *behaviours, attempts=attempts)
    assert (outcome.message.startswith(words), chat.count("m")) == (True, num_asked)
    assert bool(outcome.message) == bool(words)


def test_retry_after_is_the_least_that_is_waited(chat: ChatServer) -> None:
    outcome = ask(chat, "status 429 1", "say 42")
    assert outcome.answer == "42"
    assert outcome.seconds >= 1.0


def test_a_missing_file_of_certificates_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "missing")
    with pytest.raises(ParamsError, match="SSL_CERT_FILE: missing: no certificates"):
        EndpointClient("one", build_agent("https://127.0.0.1:1/v1"))
