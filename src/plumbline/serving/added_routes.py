"""Routes that packages beside the engine add to the server: entry points of `plumbline.routes`."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from plumbline.contract.extensions import load_extensions
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

    from plumbline.serving.inference_request import InferenceRequest
    from plumbline.serving.loaded_model import Answer
    from plumbline.serving.router import TrafficRouter

    AnswerRequest = Callable[[Request, TrafficRouter, InferenceRequest], Awaitable[Answer]]


class AddedRoutes(Protocol):
    """A module that an entry point names. Every server imports it: heavy imports are in functions.

    Each function does nothing where `settings` do not ask for its routes.
    """

    def check(self, settings: Settings, champion: CachedVersion) -> None:
        """Raise PlumblineError for wrong settings, before a worker starts."""
        ...

    def add_routes(
        self,
        app: "FastAPI",
        router: "TrafficRouter",
        settings: Settings,
        answer_request: "AnswerRequest",
    ) -> None:
        """Add the routes; `answer_request` answers and logs a row as the other routes do."""
        ...


def load_added_routes() -> list[AddedRoutes]:
    """Import the modules that add routes."""
    return load_extensions("plumbline.routes")
