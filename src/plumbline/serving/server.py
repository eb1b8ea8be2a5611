"""Starts the workers and watches over them: uvicorn, told how to drain and what to refuse."""

import functools
import os
import resource
import socket
import tempfile
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess

from plumbline.contract.errors import PlumblineError
from plumbline.registry.reader.mirror import Copy, Mirror
from plumbline.serving import logs
from plumbline.serving.protocol import Protocol
from plumbline.serving.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

BACKLOG = 2048
KEEP_ALIVE_S, START_S = 75, 30


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer what was asked and return.

    Raises RegistryError or BundleError where there is nothing to serve, PlumblineError where the port is taken.
    """
    _prepare(settings)
    with tempfile.TemporaryDirectory(prefix="plumbline-metrics-") as shared:
        if settings.workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        _raise_open_files()
        with _bound(settings) as bound:
            _run(Supervisor(_config(settings), [bound]))


def application(settings: Settings) -> "FastAPI":
    """The application of one worker; the process that watches over them needs no web framework."""
    from plumbline.serving.app import create

    return create(settings)


class Supervisor(Multiprocess):
    """uvicorn's, which holds nothing open that its workers should close."""

    def keep_subprocess_alive(self) -> None:
        """Replace workers that died; the end of one that is being asked is seen at once, not at the timeout."""
        for worker in self.processes:
            worker.child_conn.close()
        super().keep_subprocess_alive()

    def terminate_all(self) -> None:
        """End the workers. The socket goes first: else clients go on to connect to nobody."""
        for bound in self.sockets:
            bound.close()
        super().terminate_all()


def _run(supervisor: Multiprocess) -> None:
    supervisor.run()
    if STARTUP_FAILURE in [worker.exitcode for worker in supervisor.processes]:
        raise PlumblineError("no worker could start; the lines above say why")


def _prepare(settings: Settings) -> None:
    """Have every version here and verified before a worker starts."""
    mirror = Mirror(settings.uri, settings.cache)
    copy = mirror.current()
    for version in (settings.canary.version if settings.canary else None, settings.shadow):
        if version:
            mirror.version(version)
    _greet(settings, copy)


def _greet(settings: Settings, copy: Copy) -> None:
    at = f"http://{settings.host}:{settings.port}"
    print(  # noqa: T201
        f"{copy.name} version {copy.version} ({copy.bundle[:12]}) at {at}; Ctrl-C ends it",
        flush=True,
    )


def _config(settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        functools.partial(application, settings),
        factory=True,
        workers=settings.workers,
        loop="uvloop",
        http=Protocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=logs.CONFIG,
        log_level="error",  # below that uvicorn tells of every malformed request: /metrics counts them
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_worker_healthcheck=START_S,
        timeout_graceful_shutdown=int(settings.limits.drain_s),
    )


def _bound(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    found = socket.socket(family)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((settings.host, settings.port))
    except OSError as error:
        found.close()
        raise PlumblineError(
            f"{settings.host}:{settings.port}: {error.strerror}; choose another --port"
        ) from None
    found.set_inheritable(True)
    return found


def _raise_open_files() -> None:
    """A connection is an open file."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
