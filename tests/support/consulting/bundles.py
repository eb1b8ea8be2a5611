"""The small policy as a task, and sealed bundles of it."""

from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract.task import Field, Metric, Param, Signature, Task
from plumbline.process.files import write_json

VOTES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "required": True},
            "share": {"type": "double", "required": True},
        },
    },
}
SIGNATURE = Signature(
    inputs=(
        Field("agents", {"type": "array", "items": {"type": "string"}}),
        Field("answers", {"type": "array", "items": {"type": "string"}}),
        Field("budget", "double"),
    ),
    outputs=(
        Field("ask", "string"),
        Field("answer", "string"),
        Field("confidence", "double"),
        Field("votes", VOTES),
    ),
    params=(Param("stop_at", "double", None),),
)
COST = 0.002  # dollars: what the chat server's usage comes to at the prices of the tests


POLICY = Task[Any](
    name="answer_consensus",
    package="tasks.answer_consensus",
    metric=Metric("score", True, "continuous"),
    signature=SIGNATURE,
    example={"agents": [["a"]], "answers": [["1"]], "budget": [1.0]},
    faulty={},
    predictor=Path(__file__).with_name("policy.py"),
    requirements=(),
)


def write_policy(
    folder: Path,
    agents: list[str],
    needed: int = 2,
    normalise: str = "number",
    max_cost: float = 100.0,
) -> Path:
    """Write and seal a policy that asks `agents` in this order; asking each costs COST."""
    folder.mkdir(parents=True)
    write_json(folder / "config.json", build_config(agents, needed, normalise, max_cost))
    bundle.seal(folder, POLICY, "small")
    return folder


def build_config(agents: list[str], needed: int, normalise: str, max_cost: float) -> dict[str, Any]:
    """The config of the small policy."""
    return {
        "agents": agents,
        "costs": [COST] * len(agents),
        "max_cost": max_cost,
        "needed": needed,
        "normalise": normalise,
    }
