"""What all requests of /consult share: the agents, ready to be asked, and the served policy."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing import get_context

from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving.settings import Consulting
from plumbline_consult.agents import AgentsFile
from plumbline_consult.agents_file import read_agents
from plumbline_consult.answer_forms import load_normaliser
from plumbline_consult.calling import AgentCaller
from plumbline_consult.policy import PolicyConfig, check_agents, read_config
from plumbline_consult.team import open_team


@dataclass(frozen=True)
class ConsultingDesk:
    """What all requests share: agents, the form in which their answers are compared, slots."""

    settings: Consulting
    file: AgentsFile
    form: str
    team: dict[str, AgentCaller]
    slots: asyncio.Semaphore

    def read_policy(self, champion: CachedVersion) -> PolicyConfig:
        """Read whom the policy knows; PlumblineError where it is not a policy over these agents."""
        return _read_policy(champion, self.settings, self.file)


@asynccontextmanager
async def open_desk(settings: Consulting, champion: CachedVersion) -> AsyncIterator[ConsultingDesk]:
    """Make the agents ready; PlumblineError where the champion is not a policy over them."""
    file = read_agents(settings.agents)
    config = _read_policy(champion, settings, file)
    async with open_team(file, load_normaliser(config.form)) as team:
        slots = asyncio.Semaphore(file.max_questions)
        yield ConsultingDesk(settings, file, config.form, team, slots)


def check_desk(settings: Consulting, champion: CachedVersion) -> None:
    """Open the desk once, as a worker will, and close it. Raises as `open_desk` does.

    In a process of its own: the supervisor keeps no model in memory, and runs no model's code.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(_open_once, settings, champion).result()


def _open_once(settings: Consulting, champion: CachedVersion) -> None:
    async def open_and_close() -> None:
        async with open_desk(settings, champion):
            pass

    asyncio.run(open_and_close())


def _read_policy(champion: CachedVersion, settings: Consulting, file: AgentsFile) -> PolicyConfig:
    config = read_config(champion.folder, f"{champion.name} version {champion.version}")
    check_agents(config, settings.agents, file)
    return config
