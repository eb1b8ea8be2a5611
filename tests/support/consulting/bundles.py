"""A sealed bundle of the small policy."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract.task import Field, Param, Signature
from plumbline.process.files import digest_path, write_json

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
        Field("confidences", {"type": "array", "items": {"type": "double"}}, required=False),
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
EXAMPLE = {"agents": [["a"]], "answers": [["1"]], "budget": [1.0]}


def write_policy(
    folder: Path,
    agents: list[str],
    needed: int = 2,
    normalise: str = "number",
    max_cost: float = 100.0,
    stated: float = 0.0,
) -> Path:
    """Write and seal a policy that asks `agents` in this order; asking each costs COST.

    `stated` is the confidence that each stated in the mean of its records; 0: none did.
    """
    config = build_config(agents, needed, normalise, max_cost)
    config["stated"] = [stated] * len(agents)
    return _write_bundle(folder, "policy.py", config, SIGNATURE, EXAMPLE)


def build_config(agents: list[str], needed: int, normalise: str, max_cost: float) -> dict[str, Any]:
    """The config of the small policy."""
    return {
        "agents": agents,
        "costs": [COST] * len(agents),
        "max_cost": max_cost,
        "stated": [0.0] * len(agents),
        "needed": needed,
        "normalise": normalise,
    }


def write_other_model(folder: Path) -> Path:
    """Write and seal a model that is not a policy."""
    signature = Signature((Field("text", "string"),), (Field("label", "string"),))
    return _write_bundle(folder, "measuring.py", {}, signature, {"text": ["ab"]})


def _write_bundle(
    folder: Path, code: str, config: Any, signature: Signature, example: dict[str, Any]
) -> Path:
    folder.mkdir(parents=True)
    write_json(folder / "config.json", config)
    (folder / "predictor.py").write_bytes(Path(__file__).with_name(code).read_bytes())
    names = ("config.json", "predictor.py")
    sealed = {
        "format": bundle.FORMAT,
        "task": "answer_consensus",
        "candidate": "small",
        "signature": asdict(signature),
        "example": example,
        "files": {name: digest_path(folder / name) for name in names},
    }
    write_json(folder / bundle.SEAL, sealed)
    bundle.verify(folder)
    return folder
