"""docs/consult.md: its agents.yaml can be read, and states the defaults that hold."""

import re
import textwrap
from pathlib import Path

from tests.support.checkouts import ROOT

from plumbline_consult.agents import AgentEntry, AgentsFile, Breaker, Endpoint
from plumbline_consult.agents_file import read_agents

TEXT = (ROOT / "docs/consult.md").read_text(encoding="utf-8")


def test_its_file_of_agents_is_sound(tmp_path: Path) -> None:
    (block,) = re.findall(r"## agents\.yaml\n\n((?:    .*\n)+)", TEXT)
    path = tmp_path / "agents.yaml"
    path.write_text(textwrap.dedent(block), encoding="utf-8")
    agents = read_agents(path).agents
    assert {agent.kind for agent in agents.values()} == {"endpoint", "registered", "local"}
    assert agents["second"].sees_others


def test_its_defaults_are_those_of_the_code() -> None:
    breaker = Breaker()
    for expected in (
        f"timeout_s: {AgentEntry().timeout_s:g}",
        f"attempts: {AgentEntry().attempts}",
        f"max_parallel: {Endpoint.model_fields['max_parallel'].default}",
        f"{{failures: {breaker.failures}, pause_s: {breaker.pause_s:g}}}",
        f"max_parallel: {AgentsFile.model_fields['max_parallel'].default}",
        f"max_questions: {AgentsFile.model_fields['max_questions'].default}",
        f"agents_at_once: {AgentsFile.model_fields['agents_at_once'].default}",
    ):
        assert expected in TEXT
