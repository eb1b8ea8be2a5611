"""What `plumbline serve --agents` adds to the server: the entry point of `plumbline.routes`."""

from typing import TYPE_CHECKING

from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from plumbline.serving.app import AnswerRequest
    from plumbline.serving.router import TrafficRouter


def check(settings: Settings, champion: CachedVersion) -> None:
    """Check agents.yaml, keys, records and policy now, not at the first request."""
    path = settings.agents
    if path is None:
        return
    from plumbline_consult.agents import read_agents
    from plumbline_consult.answer_records import AnswerRecords
    from plumbline_consult.calling import Team
    from plumbline_consult.policy import read_config

    file = read_agents(path)
    Team(file)
    read_config(champion.folder, f"{champion.name} version {champion.version}", path, file)
    if settings.records:
        AnswerRecords(settings.records, "", "").check_writable()


def add_routes(
    app: "FastAPI", router: "TrafficRouter", settings: Settings, answer_request: "AnswerRequest"
) -> None:
    """Add the route /consult."""
    if settings.agents:
        from plumbline_consult.route import add_consult_route

        add_consult_route(app, router, settings, settings.agents, answer_request)
