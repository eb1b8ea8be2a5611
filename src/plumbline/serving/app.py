"""The routes: MLflow's scoring contract, Open Inference Protocol v2, health, metrics, a page."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException
from uvicorn.config import STARTUP_FAILURE

from plumbline.contract.errors import PlumblineError, RegistryError
from plumbline.contract.extensions import load_extensions
from plumbline.serving import open_inference
from plumbline.serving.embeddings import encode_embeddings, parse_embeddings_body
from plumbline.serving.errors import RequestError
from plumbline.serving.exchange import Exchange
from plumbline.serving.guards import REQUEST_ID, AccessRules, GuardMiddleware
from plumbline.serving.health import add_health_routes
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.loaded_model import Answer, LoadedModel
from plumbline.serving.metrics import LATENCY, render_metrics
from plumbline.serving.request_body import parse_body
from plumbline.serving.request_log import RequestLog
from plumbline.serving.responses import (
    EMBEDDINGS,
    ERROR_STATUSES,
    EmbeddingsErrorBody,
    ErrorBody,
    handle_error,
    make_answer_response,
    make_json_response,
    read_body,
)
from plumbline.serving.router import TrafficRouter
from plumbline.serving.settings import Settings

PAGE = Path(__file__).parent / "static" / "index.html"
RETRY_S = 2.0
COLLECTOR_S = 2  # for a collector to take traces, and again metrics: the last ones delay the end
CSP = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# What /openapi.json says of a body that a model's signature describes.
OBJECT = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}
AnswerRequest = Callable[[Request, TrafficRouter, InferenceRequest], Awaitable[Answer]]
log = logging.getLogger(__name__)


def create_app(settings: Settings) -> FastAPI:
    """Create the application that serves `settings.model`; it loads the model when it starts."""

    @asynccontextmanager
    async def run_lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.router = router
        await _start_router(router)
        with request_log.run():
            yield
            await router.close()

    request_log = RequestLog(settings)
    router = TrafficRouter(settings, request_log)
    app = FastAPI(
        title="plumbline",
        lifespan=run_lifespan,
        docs_url="/docs" if settings.is_loopback else None,
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=Response,
        responses={status: {"model": ErrorBody} for status in ERROR_STATUSES},
        telemetry=_configure_telemetry(),
    )
    app.state.settings = settings
    for kind in (RequestError, HTTPException, Exception):
        app.add_exception_handler(kind, handle_error)
    add_health_routes(app, router)
    _add_state_routes(app, router)
    _add_invocations_route(app, router, settings)
    _add_embeddings_route(app, router, settings)
    _add_model_routes(app, router)
    _add_infer_route(app, router, settings)
    app.add_middleware(GuardMiddleware, access=AccessRules(settings), router=router)
    for added in load_extensions("plumbline.routes"):
        added.add_routes(app, router, settings, _answer)
    app.openapi = lambda: _describe_routes(app, router)  # type: ignore[method-assign]
    return app


def _describe_routes(app: FastAPI, router: TrafficRouter) -> dict[str, Any]:
    """Describe the routes, with a body that the champion answers: what `/docs` proposes to send."""
    description = FastAPI.openapi(app)
    asked = description["paths"]["/invocations"]["post"]["requestBody"]
    asked["content"]["application/json"]["example"] = {"inputs": router.champion.example}
    return description


async def _start_router(router: TrafficRouter) -> None:
    """Load the model before any request is taken; if it is unfit, this and all workers exit.

    Where the registry or a file cannot be read for now, this worker alone exits and is replaced.
    """
    try:
        return await router.start()
    except (RegistryError, OSError) as error:
        log.warning("%s; trying again", error)
        await asyncio.sleep(RETRY_S)
        os._exit(1)  # the supervisor starts another worker
    except PlumblineError as error:
        log.critical("%s", error)
    except Exception:
        log.critical("the model cannot be loaded", exc_info=True)
    os._exit(STARTUP_FAILURE)


def _add_state_routes(app: FastAPI, router: TrafficRouter) -> None:
    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def show_page() -> Response:
        return HTMLResponse(PAGE.read_bytes(), headers={"content-security-policy": CSP})

    @app.get("/version", name="version")
    async def describe_version() -> Response:
        model = router.champion
        cached = model.cached
        return make_json_response(
            {
                "name": cached.name,
                "version": cached.version,
                "bundle": cached.bundle,
                "task": cached.task,
                "example": model.example,
                "problem": router.problem,
            }
        )

    @app.get("/metrics", name="counted")
    async def show_metrics() -> Response:
        return Response(render_metrics(), media_type="text/plain; version=0.0.4")


def _add_invocations_route(app: FastAPI, router: TrafficRouter, settings: Settings) -> None:
    @app.post("/invocations", name="invocations", openapi_extra=OBJECT)
    async def answer_invocations(request: Request) -> Response:
        champion = router.champion
        raw = await read_body(request, settings.limits)
        content_type = request.headers.get("content-type", "")
        parsed = parse_body(
            raw, content_type, champion.signature, settings.limits.max_rows, champion.own_columns
        )
        answer = await _answer(request, router, parsed)
        names = list(answer.columns)
        rows = zip(*answer.columns.values(), strict=True)
        records = [dict(zip(names, row, strict=True)) for row in rows]
        return make_answer_response({"predictions": records}, answer)


def _add_embeddings_route(app: FastAPI, router: TrafficRouter, settings: Settings) -> None:
    errors: dict[int | str, Any] = {
        status: {"model": EmbeddingsErrorBody} for status in ERROR_STATUSES
    }

    @app.post(EMBEDDINGS, name="embeddings", openapi_extra=OBJECT, responses=errors)
    async def answer_embeddings(request: Request) -> Response:
        raw = await read_body(request, settings.limits)
        champion = router.champion  # alone, and not logged: a store has vectors of one version
        parsed, as_base64 = parse_embeddings_body(raw, champion, settings.limits.max_rows)
        answer = await champion.answer(parsed, settings.limits.deadline_s)
        LATENCY.labels(answer.variant).observe(answer.seconds)
        return make_answer_response(encode_embeddings(answer, as_base64=as_base64), answer)


def _add_model_routes(app: FastAPI, router: TrafficRouter) -> None:
    @app.get("/v2", name="server")
    async def describe_server() -> Response:
        version = metadata.version("plumbline")
        return make_json_response(
            {"name": "plumbline", "version": version, "extensions": ["binary_tensor_data"]}
        )

    @app.get("/v2/models/{name}", name="model")
    @app.get("/v2/models/{name}/versions/{version}", name="model")
    async def describe_model(name: str, version: str | None = None) -> Response:
        model = _require_model(router, name, version)
        return make_json_response(open_inference.describe_model(model.cached, model.signature))


def _add_infer_route(app: FastAPI, router: TrafficRouter, settings: Settings) -> None:
    @app.post("/v2/models/{name}/infer", name="infer", openapi_extra=OBJECT)
    @app.post("/v2/models/{name}/versions/{version}/infer", name="infer", openapi_extra=OBJECT)
    async def answer_infer(request: Request, name: str, version: str | None = None) -> Response:
        raw = await read_body(request, settings.limits)  # meanwhile a champion may be replaced
        signature = _require_model(router, name, version).signature
        parsed = open_inference.parse_infer_body(
            raw, request.headers, name, signature, settings.limits.max_rows
        )
        is_version_named = version is not None
        answer = await _answer(request, router, parsed.request, is_version_named=is_version_named)
        response = open_inference.encode_infer_response(
            answer.columns, answer.cached, signature, parsed
        )
        return make_answer_response(response, answer)


async def _answer(
    request: Request,
    router: TrafficRouter,
    parsed: InferenceRequest,
    *,
    is_version_named: bool = False,
) -> Answer:
    key = request.headers.get(request.app.state.settings.key_header, "")
    exchange = Exchange(parsed, request.scope[REQUEST_ID], key)
    answer = await router.answer(exchange, is_version_named=is_version_named)
    LATENCY.labels(answer.variant).observe(answer.seconds)
    return answer


def _require_model(router: TrafficRouter, name: str, version: str | None) -> LoadedModel:
    """Return the champion if it has this name and version; else RequestError (404)."""
    cached = router.champion.cached
    if not router.is_champion(name, version):
        raise RequestError(
            404,
            "NO_SUCH_MODEL",
            f"unknown model or version; this server has {cached.name} version {cached.version}",
        )
    return router.champion


def _configure_telemetry() -> Any:
    """Switch OpenTelemetry on if the environment names a collector; else it costs nothing."""
    on = bool(os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"))
    if on:
        os.environ.setdefault("OTEL_EXPORTER_OTLP_TIMEOUT", str(COLLECTOR_S))
    return {
        "tracing": on,
        "metrics": on,
        "logs": False,
        "operation_spans": False,
        "auto_configure": on,
    }
