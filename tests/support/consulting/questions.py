"""Consult in one process: agents of a chat server, the small policy, an observer that listens."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.consulting.bundles import write_policy

from plumbline import bundle
from plumbline_consult.agents import AgentsFile
from plumbline_consult.consultation import Consultation, run_together
from plumbline_consult.course import Asking, ConsultationResult, Observer, Question
from plumbline_consult.outcomes import AgentOutcome
from plumbline_consult.policy import PredictorPolicy, read_config
from plumbline_consult.team import Opener, build_terms, open_team

QUESTION = Question("q1", "What is 6 * 7?")
PRICE = {"prompt": 0.1, "completion": 0.2}


def take_number(text: str) -> str:
    """The last number of a text."""
    numbers = re.findall(r"-?\d+", text)
    return numbers[-1] if numbers else ""


def describe_endpoint(url: str, model: str, **more: Any) -> dict[str, Any]:
    """An entry of agents.yaml."""
    entry = {"kind": "endpoint", "base_url": url, "model": model, "prompt": "Q: {question}"}
    return {**entry, "price": PRICE, **more}


def build_file(agents: dict[str, dict[str, Any]], **more: Any) -> AgentsFile:
    """agents.yaml as it is checked."""
    values = {"deadline_s": 20.0, **more, "agents": agents}
    return AgentsFile.model_validate(values)


@dataclass
class Listener(Observer):
    """Keeps what it hears."""

    started: list[str] = field(default_factory=list)
    ended: list[tuple[AgentOutcome, Asking]] = field(default_factory=list)

    def start_agent(self, question: Question, agent: str) -> None:
        self.started.append(agent)

    def end_agent(self, question: Question, outcome: AgentOutcome, asking: Asking) -> None:
        self.ended.append((outcome, asking))


def consult_on(
    questions: Sequence[Question],
    file: AgentsFile,
    folder: Path,
    observers: Sequence[Observer] = (),
    openers: dict[str, Opener] | None = None,
    **policy: Any,
) -> list[ConsultationResult]:
    """Consult on all questions at the same time, with a policy written to `folder`."""
    bundle_folder = write_policy(folder / "policy", list(file.agents), **policy)
    config = read_config(bundle_folder, "policy")
    loaded = PredictorPolicy(bundle.load(bundle_folder), {}, "policy", config)
    results: dict[str, ConsultationResult] = {}

    async def run() -> None:
        async with open_team(file, take_number, openers) as team:
            consultation = Consultation(team, loaded, observers)

            async def consult_one(question: Question) -> None:
                terms = build_terms(question, file)
                results[question.id] = await consultation.consult(question, terms)

            await run_together([consult_one(question) for question in questions])

    asyncio.run(run())
    return [results[question.id] for question in questions]


def consult_once(file: AgentsFile, folder: Path, **more: Any) -> ConsultationResult:
    """Consult on one question."""
    (result,) = consult_on([QUESTION], file, folder, **more)
    return result
