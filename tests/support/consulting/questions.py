"""Consult in one process: agents of a chat server, a policy whose weights are written by hand."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.process.files import write_json
from plumbline_consult.agents import AgentsFile
from plumbline_consult.calling import Team
from plumbline_consult.consultation import Consultation, Course, Question, run_together
from plumbline_consult.policy import Columns, ModelPolicy, read_config
from tasks.answer_consensus.task import TASK

QUESTION = Question("q1", "What is 6 * 7?")
PRICE = {"prompt": 0.1, "completion": 0.2}
COST = 0.002  # dollars: what the chat server's usage comes to at these prices


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


def describe_endpoint(url: str, model: str, **more: Any) -> dict[str, Any]:
    """An entry of agents.yaml."""
    entry = {"base_url": url, "model": model, "prompt": "Q: {question}"}
    return {**entry, "price": PRICE, **more}


def build_file(agents: dict[str, dict[str, Any]], **more: Any) -> AgentsFile:
    """agents.yaml as it is checked."""
    values = {"deadline_s": 20.0, **more, "agents": agents}
    return AgentsFile.model_validate(values)


def consult_on(
    questions: Sequence[Question],
    file: AgentsFile,
    folder: Path,
    **changes: Any,
) -> list[Course]:
    """Consult on all questions at the same time, with a policy written to `folder`."""
    bundle_folder = write_policy(folder / "policy", list(file.agents), **changes)
    config = read_config(bundle_folder, "policy", folder / "agents.yaml", file)
    predictor = bundle.load(bundle_folder)

    async def answer_row(columns: Columns) -> Columns:
        return predictor.predict(columns)

    policy = ModelPolicy(config, "policy", answer_row)
    courses: dict[str, Course] = {}

    async def run() -> None:
        team = Team(file)
        consultation = Consultation(team, policy)

        async def consult_one(question: Question) -> None:
            courses[question.id] = await consultation.consult(question)

        await run_together(consult_one(question) for question in questions)
        await team.close()

    asyncio.run(run())
    return [courses[question.id] for question in questions]


def consult_once(file: AgentsFile, folder: Path, **more: Any) -> Course:
    """Consult on one question."""
    (course,) = consult_on([QUESTION], file, folder, **more)
    return course
