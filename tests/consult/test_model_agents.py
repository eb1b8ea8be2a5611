"""Agents that are models: a registered one, and a text-generation model in a folder."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.consulting.questions import build_file, consult_once, take_number
from tests.support.consulting.registered import find_registry
from tests.support.serving.lines import Lines
from tests.support.tiny_models import write_text_generator

from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline_consult.agents import LocalText
from plumbline_consult.local_text import LocalTextResponder
from plumbline_consult.replies import Prompt
from plumbline_consult.team import open_team

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")
REGISTERED = {
    "kind": "registered",
    "model": "models:/measuring@champion",
    "question_column": "text",
    "answer_column": "label",
    "price_of_answer": 0.25,
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Lines:
    return find_registry(tmp_path_factory, worker_id)


@pytest.fixture
def here(registry: Lines) -> Iterator[None]:
    with registry.here():
        yield


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text_generator(tmp_path_factory.mktemp("gpt2"))


@pytest.mark.slow
def test_a_registered_model_is_an_agent(here: None, tmp_path: Path) -> None:
    file = build_file({"own": REGISTERED})
    result = consult_once(file, tmp_path)
    (outcome,) = result.outcomes
    assert (outcome.answer, outcome.cost, outcome.num_tokens) == ("14", 0.25, 1)
    assert result.answer == "14"  # characters of "What is 6 * 7?"


def open_agent(entry: dict[str, object]) -> None:
    async def run() -> None:
        async with open_team(build_file({"own": entry}), take_number):
            pass

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"question_column": "body"}, "agents.own.question_column: .* needs text"),
        ({"answer_column": "score"}, "agents.own.answer_column: .* answers label"),
        ({"model": "models:/policy@champion"}, "needs agents, answers, budget"),
    ],
)
def test_a_model_without_such_columns(here: None, change: dict[str, str], words: str) -> None:
    with pytest.raises(ParamsError, match=words):
        open_agent(REGISTERED | change)


def test_a_kind_that_cannot_be_opened_here() -> None:
    entry = {"kind": "local", "folder": "x", "prompt": "{question}"}
    with pytest.raises(ParamsError, match="run it behind a server"):
        open_agent(entry)


def build_local(folder: Path, **more: object) -> LocalText:
    entry = {"kind": "local", "folder": str(folder), "prompt": "{question}", **more}
    return LocalText.model_validate(entry)


def test_a_local_model_writes_and_counts_its_tokens(generator: Path) -> None:
    responder = LocalTextResponder("small", build_local(generator, max_new_tokens=4))
    reply = asyncio.run(responder.respond(Prompt("parcel 1")))
    assert 1 <= reply.usage.completion_tokens <= 4
    assert reply.usage.prompt_tokens >= 1
    assert not reply.usage.is_estimate
    again = asyncio.run(responder.respond(Prompt("parcel 1")))
    assert again == reply


def test_a_local_model_stops_when_it_is_cancelled(generator: Path) -> None:
    """Its loop ends at the next token: what is left of 100,000 tokens would take an hour."""
    agent = build_local(generator, max_new_tokens=100_000)
    responder = LocalTextResponder("small", agent)
    steps = []
    responder._model.config.max_position_embeddings = 10**9

    async def run() -> None:
        task = asyncio.create_task(responder.respond(Prompt("parcel 1")))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        steps.append("cancelled")

    asyncio.run(run())  # waits for the thread
    assert steps == ["cancelled"]


def test_a_local_model_takes_part(generator: Path, tmp_path: Path) -> None:
    entry = build_local(generator, max_new_tokens=4).model_dump()
    file = build_file({"small": entry})
    result = consult_once(file, tmp_path, openers={"local": LocalTextResponder})
    (outcome,) = result.outcomes
    assert outcome.reason is None, outcome.message


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_folder_without_a_model(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PlumblineError, match=r"agents\.small\.folder"):
        LocalTextResponder("small", build_local(tmp_path / name))
