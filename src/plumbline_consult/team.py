"""Open the agents of agents.yaml, and close them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from plumbline.contract.errors import ParamsError
from plumbline_consult.agents import AgentsFile
from plumbline_consult.calling import AgentCaller, Normalise
from plumbline_consult.course import Question, Terms, is_for_all
from plumbline_consult.endpoint import EndpointResponder
from plumbline_consult.registered_model import RegisteredResponder
from plumbline_consult.replies import Responder

# By the kind of an agent: how it is made ready, from its name and its entry in agents.yaml.
Opener = Callable[[str, Any], Responder]
NO_CAP = 1e6  # dollars; the policy's own cap still holds
OPENERS: dict[str, Opener] = {"endpoint": EndpointResponder, "registered": RegisteredResponder}


@asynccontextmanager
async def open_team(
    file: AgentsFile, normalise: Normalise, more_openers: Mapping[str, Opener] | None = None
) -> AsyncIterator[dict[str, AgentCaller]]:
    """Make every agent ready; `more_openers` are those of kinds that need a model library.

    Raises ParamsError for an agent whose key is not set or whose kind cannot be opened here,
    PlumblineError for a model that cannot be loaded.
    """
    openers = {**OPENERS, **(more_openers or {})}
    slots = asyncio.Semaphore(file.max_parallel)
    team: dict[str, AgentCaller] = {}
    async with AsyncExitStack() as stack:
        for name, agent in file.agents.items():
            if agent.kind not in openers:
                raise ParamsError(
                    f"agents.{name}.kind: a {agent.kind} model cannot be opened here; "
                    "run it behind a server such as vLLM, and name that as an endpoint"
                )
            responder = await asyncio.to_thread(openers[agent.kind], name, agent)
            team[name] = AgentCaller(name, agent, responder, normalise, slots)
            stack.push_async_callback(team[name].close)
        yield team


def build_terms(question: Question, file: AgentsFile) -> Terms:
    """The limits of one question, as agents.yaml states them."""
    max_cost = NO_CAP if file.max_cost is None else file.max_cost
    asks_all = is_for_all(question, file.ask_all)
    return Terms(file.deadline_s, max_cost, asks_all, file.agents_at_once)
