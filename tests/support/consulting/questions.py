"""Consult in one process: agents of a chat server, the small policy."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.consulting.bundles import write_policy

from plumbline import bundle
from plumbline_consult.agents import AgentsFile
from plumbline_consult.calling import close_team, open_team
from plumbline_consult.consultation import Consultation, run_together
from plumbline_consult.course import Course, Question
from plumbline_consult.policy import Columns, ModelPolicy, read_config

QUESTION = Question("q1", "What is 6 * 7?")
PRICE = {"prompt": 0.1, "completion": 0.2}


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
        team = open_team(file)
        consultation = Consultation(file, team, policy)

        async def consult_one(question: Question) -> None:
            courses[question.id] = await consultation.consult(question)

        await run_together(consult_one(question) for question in questions)
        await close_team(team)

    asyncio.run(run())
    return [courses[question.id] for question in questions]


def consult_once(file: AgentsFile, folder: Path, **more: Any) -> Course:
    """Consult on one question."""
    (course,) = consult_on([QUESTION], file, folder, **more)
    return course
