"""Sealed bundles of a policy of answer_consensus whose weights are written by hand."""

from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.process.files import write_json
from tasks.answer_consensus.task import TASK

COST = 0.002  # dollars: what the chat server's usage comes to at the prices of the tests


def write_policy(folder: Path, agents: list[str], **changes: Any) -> Path:
    """Write and seal a policy of `build_config`."""
    folder.mkdir(parents=True)
    write_json(folder / "config.json", build_config(agents) | changes)
    bundle.seal(folder, TASK, "small")
    return folder


def build_config(agents: list[str]) -> dict[str, Any]:
    """The config of a policy that asks `agents` in this order until two agree and one at most not.

    One answer is right with 0.62, one that two gave with 0.92, or with 0.82 beside another one.
    """
    num_agents = len(agents)
    return {
        "agents": agents,
        "costs": [COST] * num_agents,
        "max_cost": 100.0,
        "normalise": "number",
        "rank": list(range(num_agents)),
        "plan": list(range(num_agents)),
        "by_value": False,
        "stop_at": 0.8,
        "accuracy": [0.6] * num_agents,
        "agreement": [[0.5] * num_agents] * num_agents,
        "scorer": {"favour": [2.0] * num_agents, "none": 1.5, "none_each": [0.0] * num_agents},
    }
