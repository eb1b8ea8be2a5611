"""What a server is told when it starts; nothing of it changes a result."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """What one request, and all that wait, may take."""

    body_bytes: int = 4_000_000
    rows: int = 1024  # of one request
    waiting_rows: int = (
        256  # of all requests that wait; one that alone is longer waits for an empty queue
    )
    batch_rows: int = 64  # answered in one call of the predictor
    deadline_s: float = 10.0
    header_s: float = 10.0  # from the first byte of a request to the end of its headers
    body_s: float = 10.0
    hang_s: float = 60.0  # one call of the predictor; past it the worker is replaced
    drain_s: float = 30.0
    connections: int = 1000


@dataclass(frozen=True)
class Canary:
    """A version that answers a share of the requests while it is on trial."""

    version: str
    share: float
    max_disagreement: float = 0.10  # of its answers with the champion's
    max_slowdown: float = 2.0  # of its time to the champion's


@dataclass(frozen=True)
class Settings:
    """One server."""

    uri: str  # models:/NAME@ALIAS or models:/NAME/VERSION
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    token: str | None = None
    hosts: tuple[str, ...] = (
        "127.0.0.1",
        "localhost",
        "[::1]",
    )  # names by which the server may be called
    poll_s: float = 5.0
    canary: Canary | None = None
    shadow: str | None = None
    log: Path | None = None  # a folder for the sampled log of requests
    log_share: float = 1.0
    redact: str | None = None  # MODULE:FUNCTION that changes a logged row's columns
    cache: Path | None = None
    limits: Limits = field(default_factory=Limits)
