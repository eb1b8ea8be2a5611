"""What `plumbline serve --agents` adds to the server: the entry point of `plumbline.routes`."""

from typing import TYPE_CHECKING

from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from plumbline.serving.added_routes import AnswerRequest
    from plumbline.serving.router import TrafficRouter


def check_settings(settings: Settings) -> None:
    """Check agents.yaml, keys and records now, not at the first request."""
    if settings.consulting is None:
        return
    from plumbline_consult.agents_file import read_agents
    from plumbline_consult.answer_records import AnswerRecords
    from plumbline_consult.endpoint import read_key

    for name, agent in read_agents(settings.consulting.agents).agents.items():
        read_key(name, agent.key_env)
    if settings.consulting.records:
        AnswerRecords(settings.consulting.records, "", "").check_writable()


def check_champion(settings: Settings, champion: CachedVersion) -> None:
    """PlumblineError where the champion is not a policy over the agents of agents.yaml."""
    if settings.consulting is None:
        return
    from plumbline_consult.agents_file import read_agents
    from plumbline_consult.policy import read_config

    path = settings.consulting.agents
    label = f"{champion.name} version {champion.version}"
    read_config(champion.folder, label, path, read_agents(path))


def add_routes(
    app: "FastAPI", router: "TrafficRouter", settings: Settings, answer_request: "AnswerRequest"
) -> None:
    """Add the route /consult."""
    if settings.consulting:
        from plumbline_consult.route import add_consult_route

        add_consult_route(app, router, settings, settings.consulting, answer_request)
