"""docs/how-to/consult.md: its agents.yaml can be read, and states the defaults that hold."""

import re
import textwrap
from pathlib import Path

from tests.support.checkouts import ROOT

from plumbline_consult.agents import AgentEntry, AgentsFile
from plumbline_consult.agents_file import read_agents

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
