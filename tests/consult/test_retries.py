"""When an agent is asked again, and when not."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.support.consulting.chat_server import ChatServer, run_chat_server
from tests.support.consulting.questions import build_file, describe_endpoint

from plumbline_consult.calling import AgentOutcome, close_team, open_team


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with run_chat_server() as server:
        yield server


def ask(chat: ChatServer, *behaviours: str, attempts: int = 3) -> AgentOutcome:
    chat.scripts["m"] = list(behaviours)
    file = build_file({"one": describe_endpoint(chat.url, "m", attempts=attempts)})

    async def run() -> AgentOutcome:
        team = open_team(file)
        deadline = asyncio.get_running_loop().time() + 60
        outcome = await team["one"].ask("What is 6 * 7?", [], deadline, str.strip)
        await close_team(team)
        return outcome

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("behaviours", "attempts", "status", "num_asked"),
    [
        (("status 500", "close-mid-body", "say 42"), 3, "answered", 3),
        (("status 503",), 2, "unavailable", 2),
        (("status 400",), 3, "refused", 1),
        (("status 429 600",), 3, "rate-limit", 1),  # nobody waits beyond the deadline
    ],
)
def test_it_asks_again_where_that_can_help(
    chat: ChatServer, behaviours: tuple[str, ...], attempts: int, status: str, num_asked: int
) -> None:
    outcome = ask(chat, *behaviours, attempts=attempts)
    assert (outcome.status, chat.count("m")) == (status, num_asked)


def test_retry_after_is_the_least_that_is_waited(chat: ChatServer) -> None:
    outcome = ask(chat, "status 429 1", "say 42")
    assert outcome.answer == "42"
    assert outcome.seconds >= 1.0
