"""agents.yaml: strict; every problem with its line and key, and no key in a message."""

from pathlib import Path

import pytest

from plumbline.contract.errors import ParamsError
from plumbline_consult.agents_file import read_agents

SOUND = """\
deadline_s: 10
agents:
  cheap:
    kind: endpoint
    base_url: http://127.0.0.1:11434/v1/
    model: llama3.2
    prompt: "Q: {question}"
    price: {prompt: 0.0, completion: 0.0}
  judge:
    kind: endpoint
    base_url: https://gateway.example/v1
    model: large
    key_env: GATEWAY_KEY
    body: {temperature: 0}
    prompt: "{question} Others said: {others}"
    sees: others
    price: {prompt: 0.001, completion: 0.002}
  own:
    kind: registered
    model: models:/ticket-router@champion
    question_column: text
    answer_column: label
  local:
    kind: local
    folder: /models/small
    prompt: "{question}"
"""


def read(folder: Path, text: str) -> str:
    """The message for a file that is refused."""
    path = folder / "agents.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParamsError) as caught:
        read_agents(path)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_sound_file(tmp_path: Path) -> None:
    path = tmp_path / "agents.yaml"
    path.write_text(SOUND, encoding="utf-8")
    file = read_agents(path)
    assert list(file.agents) == ["cheap", "judge", "own", "local"]
    assert [agent.sees_others for agent in file.agents.values()] == [False, True, False, False]
    assert file.agents["cheap"].base_url == "http://127.0.0.1:11434/v1"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "model: llama3.2",
            "model: x\n    modl: x",
            "agents.yaml:7: agents.cheap.modl: unknown key",
        ),
        ("    model: llama3.2\n", "", "agents.yaml:3: agents.cheap.model: missing"),
        ("kind: local", "kind: locl", "agents.yaml:23: agents.local.kind: expected one of"),
        ("deadline_s: 10", "deadline_s: -1", "agents.yaml:1: deadline_s: input should be greater"),
        ("{question} Others", "Others", "does not contain {question}; write where"),
        ("    sees: others\n", "", "prompt: contains {others}; set `sees: others`"),
        ("said: {others}", "said", "does not contain {others}, but `sees` is others"),
        ("{temperature: 0}", "{stream: true}", "agents.yaml:14: agents.judge.body: stream cannot"),
        ("  own:", "  Own Model:", "agents.yaml:18: agents.Own Model"),
        ("completion: 0.002", "completion: -1", "agents.judge.price.completion: input should be"),
        (
            "body: {temperature: 0}",
            'logprobs: true\n    confidence_after: "Sure:"',
            "logprobs: is on, and confidence_after is set too",
        ),
        ("{temperature: 0}", "{logprobs: true}", "agents.judge.body: logprobs cannot be set here"),
        ("https://gateway", "ftp://gateway", "agents.yaml:11: agents.judge.base_url: expected an"),
    ],
)
def test_a_problem_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
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


def test_all_problems_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    text = SOUND.replace("folder: /models/small", "folders: x").replace("model: large", "model: 7")
    lines = read(tmp_path, text).splitlines()
    assert lines[0] == "agents.yaml: 3 problems; nobody was asked"
    numbers = [int(line.split(":")[1]) for line in lines[1:]]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("text", ["", "- 1", "agents: {}", "agents: 7", "deadline_s: 3"])
def test_a_file_without_agents(tmp_path: Path, text: str) -> None:
    assert "agents" in read(tmp_path, text)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match=r"agents\.yaml: cannot be read"):
        read_agents(tmp_path / "agents.yaml")
