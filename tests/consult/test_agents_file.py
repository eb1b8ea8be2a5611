"""agents.yaml: strict, each problem with its key, no key shown, as docs/how-to/consult.md says."""

import re
import textwrap
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT

from plumbline.contract.errors import ParamsError
from plumbline_consult.agents import AgentEntry, AgentsFile, read_agents

SOUND = """\
deadline_s: 10
agents:
  cheap:
    base_url: http://127.0.0.1:11434/v1/
    model: llama3.2
    prompt: "Q: {question}"
    price: {prompt: 0.0, completion: 0.0}
  judge:
    base_url: https://gateway.example/v1
    model: large
    key_env: GATEWAY_KEY
    body: {temperature: 0}
    prompt: "{question} Others said: {others}"
    price: {prompt: 0.001, completion: 0.002}
"""


def read(folder: Path, text: str) -> str:
    """The message for a file that is refused."""
    path = folder / "agents.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParamsError) as caught:
        read_agents(path)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("model: llama3.2", "model: x\n    modl: x", "agents.cheap.modl: unknown key"),
        ("    model: llama3.2\n", "", "agents.cheap.model: missing"),
        ("deadline_s: 10", "deadline_s: -1", "deadline_s: input should be greater"),
        ("{question} Others", "Others", "does not contain {question}; write where"),
        ("  judge:", "  A Judge:", "agents.A Judge"),
        ("completion: 0.002", "completion: -1", "agents.judge.price.completion: input should be"),
        ("https://gateway", "ftp://gateway", "agents.judge.base_url: expected an"),
    ],
)
def test_a_problem_is_named_with_its_key(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in SOUND
    message = read(tmp_path, SOUND.replace(old, new, 1))
    assert message.startswith("agents.yaml: 1 problem; nobody was asked\n")
    assert expected in message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("key_env: GATEWAY_KEY", "key_env: sk-live-12345"),
        ("key_env: GATEWAY_KEY", "api_key: sk-live-12345"),
        ("key_env: GATEWAY_KEY", "key_env: [sk-live-12345]"),
        ("https://gateway.example/v1", "https://me:sk-live-12345@gateway.example/v1"),
        ("https://gateway.example/v1", "https://gateway.example/v1?key=sk-live-12345"),
    ],
)
def test_a_key_in_the_file_is_refused_and_not_printed(tmp_path: Path, old: str, new: str) -> None:
    assert old in SOUND
    message = read(tmp_path, SOUND.replace(old, new))
    assert "sk-live" not in message
    assert "key_env" in message


def test_all_problems_at_once(tmp_path: Path) -> None:
    text = SOUND.replace("body: {", "boby: {").replace("model: large", "model: 7")
    lines = read(tmp_path, text).splitlines()
    assert lines[0] == "agents.yaml: 2 problems; nobody was asked"
    assert len(lines) == 3


@pytest.mark.parametrize("text", ["", "- 1", "agents: {}", "agents: 7", "deadline_s: 3"])
def test_a_file_without_agents(tmp_path: Path, text: str) -> None:
    assert "agents" in read(tmp_path, text)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match=r"agents\.yaml: cannot be read"):
        read_agents(tmp_path / "agents.yaml")


TEXT = (ROOT / "docs/how-to/consult.md").read_text(encoding="utf-8")


def test_its_file_of_agents_is_sound(tmp_path: Path) -> None:
    (block,) = re.findall(r"## agents\.yaml\n\n((?:    .*\n)+)", TEXT)
    path = tmp_path / "agents.yaml"
    path.write_text(textwrap.dedent(block), encoding="utf-8")
    agents = read_agents(path).agents
    assert agents["second"].sees_others


def test_its_defaults_are_those_of_the_code() -> None:
    agent, file = AgentEntry.model_fields, AgentsFile.model_fields
    for expected in (
        f"timeout_s: {agent['timeout_s'].default:g}",
        f"attempts: {agent['attempts'].default}",
        f"max_parallel: {agent['max_parallel'].default}",
        f"max_questions: {file['max_questions'].default}",
    ):
        assert expected in TEXT
