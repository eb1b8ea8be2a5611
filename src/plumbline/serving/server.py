"""Start uvicorn's workers and its supervisor."""

import functools
import os
import resource
import signal
import socket
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess

from plumbline.contract.errors import PlumblineError
from plumbline.contract.extensions import load_extensions
from plumbline.registry.reader.verified_cache import VerifiedModelCache
from plumbline.serving import log_format, request_log
from plumbline.serving.canary import require_other
from plumbline.serving.settings import Settings
from plumbline.sources.request_folder import RequestFolder

if TYPE_CHECKING:
    from fastapi import FastAPI

BACKLOG = 2048
KEEP_ALIVE_S = 75
START_S = 30  # for a worker to answer the supervisor


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer requests in progress and return.

    Raises RegistryError or BundleError if there is no version to serve, PlumblineError if the port
    is in use or the agents cannot be asked.
    """
    request_log.load_redaction(settings.redact)  # a wrong name is reported now
    if settings.log_folder:
        RequestFolder(settings.log_folder)
    _fetch_versions(settings)
    with tempfile.TemporaryDirectory(prefix="plumbline-serve-") as shared:
        settings = replace(settings, state=Path(shared))
        if settings.workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        _raise_file_limit()
        with _bind_socket(settings) as bound:
            _run_supervisor(Multiprocess(_make_config(settings), [bound]), bound)


def load_app(settings: Settings) -> "FastAPI":
    """Create the application in a worker; the supervisor does not import the web framework."""
    from plumbline.serving.app import create_app

    return create_app(settings)


def _run_supervisor(supervisor: Multiprocess, bound: socket.socket) -> None:
    def end(*_: object) -> None:
        with suppress(OSError):
            bound.shutdown(socket.SHUT_RDWR)  # for the workers too: else clients connect to nobody
        bound.close()
        supervisor.should_exit.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    supervisor.run()
    if STARTUP_FAILURE in [worker.exitcode for worker in supervisor.processes]:
        raise PlumblineError("no worker could start; see the log lines above for the reason")


def _fetch_versions(settings: Settings) -> None:
    """Fetch and verify every version, and check what other packages add, before a worker starts."""
    cache = VerifiedModelCache(settings.model, settings.cache)
    champion = cache.fetch_latest_or_kept()
    if settings.shadow:
        cache.fetch_version(settings.shadow)
    if settings.trial:
        require_other(cache.fetch_version(settings.trial.version), champion)
    for routes in load_extensions("plumbline.routes"):
        routes.check(settings, champion)
    typer.echo(
        f"{champion.name} version {champion.version} ({champion.bundle[:12]}) at "
        f"http://{settings.host}:{settings.port}; Ctrl-C stops it"
    )


def _make_config(settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        functools.partial(load_app, settings),
        factory=True,
        workers=settings.workers,
        loop="uvloop",
        http="h11",  # httptools reads no body after the header Upgrade, which Java sends
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=log_format.CONFIG,
        # At lower levels uvicorn logs every malformed request, which /metrics counts.
        log_level="error",
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        limit_concurrency=settings.limits.connections,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_worker_healthcheck=START_S,
        timeout_graceful_shutdown=int(settings.limits.shutdown_timeout_s),
    )


def _bind_socket(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host, settings.port))
    except OSError as error:
        bound.close()
        raise PlumblineError(
            f"{settings.host}:{settings.port}: {error.strerror}; choose another --port"
        ) from None
    bound.set_inheritable(True)
    return bound


def _raise_file_limit() -> None:
    """Raise the limit on open files: every connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
