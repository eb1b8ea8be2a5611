"""The settings of a server; none of them changes an answer."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """How much one request, and all waiting requests together, may take."""

    body_bytes: int = 4_000_000
    rows: int = 1024  # of one request
    waiting_rows: int = 256  # in the queue; a single longer request needs an empty queue
    waiting_s: float = 0.5  # in the queue, as estimated from the calls so far
    batch_rows: int = 64  # answered by one call of the predictor
    deadline_s: float = 10.0
    read_timeout_s: float = 10.0  # for the headers of a request, and again for its body
    predict_timeout_s: float = 60.0  # for one call of the predictor; then the worker is replaced
    shutdown_timeout_s: float = 30.0
    connections: int = 1000


@dataclass(frozen=True)
class Canary:
    """A version that answers a share of the requests while it is on trial."""

    version: str
    share: float
    max_disagreement: float | None = None  # share of rows that may differ; None: as evidence says
    max_slowdown: float = 2.0  # its time divided by the champion's


@dataclass(frozen=True)
class Consulting:
    """The agents that the served policy asks."""

    agents: Path  # agents.yaml
    records: Path | None = None  # the file to which answers are appended


@dataclass(frozen=True)
class Settings:
    """One server."""

    uri: str  # models:/NAME@ALIAS or models:/NAME/VERSION
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    token: str | None = None
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")  # accepted in the Host header
    poll_s: float = 5.0
    canary: Canary | None = None
    shadow: str | None = None
    log: str | None = None  # folder or address of the sampled request log
    log_share: float = 1.0
    redact: str | None = None  # MODULE:FUNCTION that changes a row before it is logged
    cache: Path | None = None
    state: Path | None = None  # a folder that the workers share while the server runs
    consulting: Consulting | None = None
    limits: Limits = field(default_factory=Limits)
