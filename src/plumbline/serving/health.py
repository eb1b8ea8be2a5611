"""Health routes, in the Open Inference Protocol's JSON, for whoever decides where requests go.

They tell nothing but whether the server, or the model that the caller names, is ready. They need no
token, and are answered by IP address too: Kubernetes and KServe call a pod by its address.
"""

import re

from fastapi import FastAPI, Response

from plumbline.serving.errors import RequestError
from plumbline.serving.responses import make_json_response
from plumbline.serving.router import TrafficRouter

PATH = re.compile(r"/ping|/health|/v2/health/(live|ready)|/v2/models/[^/]+(/versions/[^/]+)?/ready")


def is_health_path(path: str) -> bool:
    """Whether a path is one of these routes."""
    return PATH.fullmatch(path) is not None


def add_health_routes(app: FastAPI, router: TrafficRouter) -> None:
    """Add the routes. No request is taken before a checked model answers."""

    @app.get("/ping", name="ready")
    @app.get("/health", name="ready")
    @app.get("/v2/health/ready", name="ready")
    async def check_ready() -> Response:
        return make_json_response({"ready": True})

    @app.get("/v2/health/live", name="live")
    async def check_live() -> Response:
        return make_json_response({"live": True})

    @app.get("/v2/models/{name}/ready", name="model_ready")
    @app.get("/v2/models/{name}/versions/{version}/ready", name="model_ready")
    async def check_model_ready(name: str, version: str | None = None) -> Response:
        if not router.is_champion(name, version):
            # Who asks may have no token: what is served instead is not told.
            raise RequestError(404, "NO_SUCH_MODEL", "unknown model or version")
        return make_json_response({"name": name, "ready": True})
