"""A registry with a policy, and a model that is none."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.consulting.bundles import EXAMPLE, SIGNATURE, build_config
from tests.support.made_once import make_once
from tests.support.serving.lines import Lines, register_as_measured
from tests.support.serving.models import line_task

from plumbline.contract.task import Field, Signature

HERE = Path(__file__).parent
AGENTS = ["a", "b", "c"]


def find_registry(factory: pytest.TempPathFactory, worker_id: str) -> Lines:
    """The registry with a policy over AGENTS, made once for all processes that run tests."""
    name = "registered-policy"
    return Lines(make_once(factory, worker_id, name, lambda made: register_policy(made, AGENTS)))


def register_policy(folder: Path, agents: list[str]) -> Lines:
    """A registry in `folder` with the champions `policy`, which knows `agents`, and `measuring`."""
    lines = Lines(folder)
    with pytest.MonkeyPatch.context() as patch, lines.here():
        params, task = line_task(patch)
        config = build_config(agents, 2, "number", 100.0)
        outputs = {"ask": [agents[1]], "answer": ["1"], "confidence": [1.0]}
        votes = {"votes": [[{"answer": "1", "share": 1.0}]]}
        golden = {"inputs": {**EXAMPLE, "agents": [agents[:1]]}, "params": {}}
        policy = replace(
            task,
            signature=SIGNATURE,
            example=golden["inputs"],
            faulty={},
            predictor=HERE / "policy.py",
        )
        named = params.registry.model_copy(update={"model": "policy"})
        register_as_measured(
            params.model_copy(update={"registry": named}),
            policy,
            config,
            {**golden, "outputs": outputs | votes},
            name="config.json",
        )
        measuring = replace(
            task,
            signature=Signature((Field("text", "string"),), (Field("label", "string"),)),
            example={"text": ["ab"]},
            faulty={},
            predictor=HERE / "measuring.py",
        )
        named = params.registry.model_copy(update={"model": "measuring"})
        golden = {"inputs": {"text": ["ab"]}, "params": {}, "outputs": {"label": ["2"]}}
        register_as_measured(params.model_copy(update={"registry": named}), measuring, {}, golden)
    return lines
