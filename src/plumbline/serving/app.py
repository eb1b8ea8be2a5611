"""The routes: MLflow's scoring contract, Open Inference Protocol v2, health, metrics, and a page to try the model."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from uvicorn.config import STARTUP_FAILURE

from plumbline.contract.errors import PlumblineError, RegistryError
from plumbline.serving import inputs, metrics, openapi, protocol, strict_json, tensors
from plumbline.serving.fleet import Answer, Fleet
from plumbline.serving.guards import Guards
from plumbline.serving.inputs import Asked
from plumbline.serving.refusals import Refusal, not_ready
from plumbline.serving.requestlog import RequestLog
from plumbline.serving.served import Served
from plumbline.serving.settings import Settings

PAGE = Path(__file__).parent / "static" / "index.html"
RETRY_S = 2.0
CSP = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
log = logging.getLogger(__name__)


def create(settings: Settings) -> FastAPI:
    """The application that serves `settings.uri`; it loads the model when it starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        app.state.fleet = fleet
        await _start(fleet)
        with RequestLog.opened(settings) as app.state.log:
            yield {"limits": settings.limits, "fleet": fleet}
            await fleet.close()

    fleet = Fleet(settings)
    app = FastAPI(
        title="plumbline",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_telemetry(),
    )
    app.state.settings = settings
    app.add_middleware(Guards, settings=settings, fleet=fleet)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(Exception, _failed)
    _add_health(app, fleet)
    _add_scoring(app, fleet, settings)
    _add_inference(app, fleet, settings)
    app.openapi = lambda: openapi.describe(app, fleet)  # type: ignore[method-assign]
    return app


async def _start(fleet: Fleet) -> None:
    """Load the model before any request is taken. A worker whose model is unfit ends, and all others with it."""
    try:
        return await fleet.start()
    except RegistryError as error:
        log.warning("%s; trying again", error)
        await asyncio.sleep(RETRY_S)
        os._exit(1)  # another is started in its place
    except PlumblineError as error:
        log.critical("%s", error)
    except Exception:
        log.critical("the model cannot be loaded", exc_info=True)
    os._exit(STARTUP_FAILURE)


def _add_health(app: FastAPI, fleet: Fleet) -> None:
    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(PAGE.read_bytes(), headers={"content-security-policy": CSP})

    @app.get("/ping")
    @app.get("/health")
    @app.get("/v2/health/ready")
    async def ready() -> Response:
        if not fleet.ready:
            raise not_ready()
        return Response(b"\n", media_type="text/plain")

    @app.get("/v2/health/live")
    async def live() -> Response:
        return Response(b"\n", media_type="text/plain")

    @app.get("/version")
    async def version() -> Response:
        served = _champion(fleet)
        copy = served.copy
        facts = {
            "name": copy.name,
            "version": copy.version,
            "bundle": copy.bundle,
            "task": copy.task,
        }
        return _json(facts | {"example": served.example})

    @app.get("/metrics")
    async def counted() -> Response:
        return Response(metrics.render(), media_type="text/plain; version=0.0.4")


def _add_scoring(app: FastAPI, fleet: Fleet, settings: Settings) -> None:
    @app.post("/invocations")
    async def invocations(request: Request) -> Response:
        signature, limits = _champion(fleet).signature, settings.limits
        raw = await _body(request, limits.body_bytes, limits.body_s)
        asked = inputs.read(raw, request.headers.get("content-type", ""), signature, limits.rows)
        answer = await _answer(request, fleet, asked)
        names = list(answer.columns)
        records = [
            dict(zip(names, row, strict=True)) for row in zip(*answer.columns.values(), strict=True)
        ]
        return _json({"predictions": records}, answer)


def _add_inference(app: FastAPI, fleet: Fleet, settings: Settings) -> None:
    @app.get("/v2")
    async def server() -> Response:
        return _json({"name": "plumbline", "version": "0.1.0", "extensions": []})

    @app.get("/v2/models/{name}")
    @app.get("/v2/models/{name}/versions/{version}")
    async def model(name: str, version: str | None = None) -> Response:
        served = _named(fleet, name, version)
        return _json(tensors.metadata(served.copy, served.signature))

    @app.get("/v2/models/{name}/ready")
    @app.get("/v2/models/{name}/versions/{version}/ready")
    async def model_ready(name: str, version: str | None = None) -> Response:
        _named(fleet, name, version)
        return Response(b"\n", media_type="text/plain")

    @app.post("/v2/models/{name}/infer")
    @app.post("/v2/models/{name}/versions/{version}/infer")
    async def infer(request: Request, name: str, version: str | None = None) -> Response:
        signature, limits = _named(fleet, name, version).signature, settings.limits
        raw = await _body(request, limits.body_bytes, limits.body_s)
        asked, identity = tensors.read(
            raw, request.headers.get("content-type", ""), signature, limits.rows
        )
        answer = await _answer(request, fleet, asked)
        return _json(tensors.answer(answer.columns, answer.copy, signature, identity), answer)


async def _answer(request: Request, fleet: Fleet, asked: Asked) -> Answer:
    answer = await fleet.answer(asked, lambda: protocol.gone(request.scope))
    metrics.LATENCY.labels(answer.side).observe(answer.seconds)
    request.app.state.log.add(asked, answer)
    return answer


async def _body(request: Request, max_bytes: int, timeout_s: float) -> bytes:
    """The whole body, within its limits of size and time."""
    too_large = Refusal(413, "BODY_TOO_LARGE", f"at most {max_bytes} bytes in one request")
    if int(request.headers.get("content-length") or 0) > max_bytes:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(timeout_s):
            async for part in request.stream():
                size += len(part)
                if size > max_bytes:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, "BODY_TIMEOUT", "the body did not come in time") from None
    except ClientDisconnect:
        raise Refusal(400, "DISCONNECTED", "the client has left") from None
    return b"".join(parts)


def _champion(fleet: Fleet) -> Served:
    if fleet.champion is None:
        raise not_ready()
    return fleet.champion


def _named(fleet: Fleet, name: str, version: str | None) -> Served:
    served = _champion(fleet)
    if name != served.copy.name or version not in (None, served.copy.version):
        raise Refusal(
            404,
            "NO_SUCH_MODEL",
            f"served are {served.copy.name} and its version {served.copy.version}",
        )
    if not fleet.ready:
        raise not_ready()
    return served


def _json(value: Any, answer: Answer | None = None) -> Response:
    try:
        raw = strict_json.dumps(value)
    except ValueError:
        raise Refusal(500, "MODEL_FAILED", "the model answered with NaN or infinity") from None
    response = Response(raw, media_type="application/json")
    if answer:
        response.raw_headers += [
            (b"x-plumbline-version", answer.copy.version.encode()),
            (b"x-plumbline-side", answer.side.encode()),
            (b"x-plumbline-ms", f"{1000 * answer.seconds:.1f}".encode()),
        ]
    return response


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)  # noqa: S101  registered for it
    response = Response(error.body, error.status)
    response.raw_headers = error.headers
    return response


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  registered for it
    code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "BAD_REQUEST")
    refused = await _refused(
        request, Refusal(error.status_code, code, "no such route or method; see /openapi.json")
    )
    if error.headers and "Allow" in error.headers:
        refused.headers["allow"] = error.headers["Allow"]
    return refused


async def _failed(request: Request, error: Exception) -> Response:
    return await _refused(request, Refusal(500, "INTERNAL", "the server failed; its log says why"))


def _telemetry() -> Any:
    """OpenTelemetry where its environment names a collector; else none, which costs nothing."""
    on = bool(os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"))
    return {
        "tracing": on,
        "metrics": on,
        "logs": False,
        "operation_spans": False,
        "auto_configure": on,
    }
