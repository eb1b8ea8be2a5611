"""The options of `plumbline serve`; none of them changes an answer."""

import ipaddress
import math
import re
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from plumbline.contract.errors import ParamsError
from plumbline.contract.suggestion import suggest_nearest

MIN_TOKEN = 16  # characters


@dataclass(frozen=True)
class Limits:
    """How much requests may take. `--limit NAME=VALUE` changes one."""

    queue_rows: int = 256  # that wait; a single longer request needs an empty queue
    max_rows: int = 1024  # of one request
    body_bytes: int = 4_000_000
    batch_rows: int = 64  # answered by one call of the predictor
    connections: int = 1000
    deadline_s: float = 10.0
    read_timeout_s: float = 10.0  # for the body of a request
    predict_timeout_s: float = 60.0  # for one call; then the worker is replaced
    shutdown_timeout_s: float = 30.0
    poll_s: float = 5.0  # between queries to the registry
    log_share: float = 1.0  # of the requests
    log_days: float = 30.0  # that files of a local log are kept
    log_mb: float = 2000.0  # of a local log; beyond it the oldest files go earlier
    max_disagreement: float = 0.3  # share of the canary's rows; then it is out of service
    canary_servers: int = 1  # that have the canary: each judges at the level divided by these


@dataclass(frozen=True)
class Canary:
    """A version that answers a share of the requests while it is on trial."""

    version: str
    share: float


@dataclass(frozen=True)
class Settings:
    """One server. ParamsError if the settings do not fit together."""

    model: Annotated[
        str,
        typer.Argument(
            help="models:/NAME@ALIAS, followed when the alias moves, or models:/NAME/VERSION."
        ),
    ]
    host: Annotated[
        str,
        typer.Option(help="The address to listen on; other than loopback only with --token-file."),
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000
    workers: Annotated[
        int, typer.Option(help="Number of processes, each with the model.", min=1, max=64)
    ] = 1
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with the bearer token that requests must carry.",
            show_default="no token",
        ),
    ] = None
    allowed_host: Annotated[
        list[str],
        typer.Option(
            help="A host name that requests may use besides --host and localhost. May be repeated.",
            show_default="no other name",
        ),
    ] = field(default_factory=list)
    canary: Annotated[
        str,
        typer.Option(
            help="VERSION=SHARE, such as 7=5%: this version answers that share of the "
            "requests, until it fails or differs too often.",
            show_default="no canary",
        ),
    ] = ""
    key_header: Annotated[
        str,
        typer.Option(
            help="A header, such as x-user-id: with --canary, requests with the same value get "
            "the same version.",
            show_default="each request by its own id",
        ),
    ] = ""
    shadow: Annotated[
        str,
        typer.Option(
            help="A version that also gets every request; its answers are only logged.",
            show_default="no shadow",
        ),
    ] = ""
    log_folder: Annotated[
        str | None,
        typer.Option(
            help="The folder, or the address such as s3://bucket/requests, to which requests "
            "and answers are logged as Parquet.",
            show_default="no log",
        ),
    ] = None
    redact: Annotated[
        str | None,
        typer.Option(
            help="MODULE:FUNCTION that gets each row before it is logged and returns what may "
            "be kept.",
            show_default="rows are logged as they are",
        ),
    ] = None
    agents: Annotated[
        Path | None,
        typer.Option(
            help="agents.yaml of a policy: adds the route /consult, which asks its agents.",
            show_default="no such route",
        ),
    ] = None
    records: Annotated[
        Path | None,
        typer.Option(
            help="With --agents: the file to which every answer of an agent is appended.",
            show_default="no records",
        ),
    ] = None
    limit: Annotated[
        list[str],
        typer.Option(
            help="NAME=VALUE, such as queue_rows=64 or deadline_s=5: one of the limits that "
            "`plumbline docs server` lists. May be repeated.",
            show_default="the limits there",
        ),
    ] = field(default_factory=list)
    cache: Path | None = None
    state: Path = Path()  # a folder that the workers share while the server runs

    def __post_init__(self) -> None:
        if self.key_header and not re.fullmatch(r"[A-Za-z0-9-]+", self.key_header):
            raise ParamsError(f"--key-header {self.key_header!r}: expected a header's name")
        if self.token is None and not self.is_loopback:
            raise ParamsError(
                f"--host {self.host}: anybody could send requests; add --token-file, or use "
                "127.0.0.1"
            )
        if self.records and not self.agents:
            raise ParamsError("--records: nobody is asked; add --agents")
        _ = self.limits

    @cached_property
    def limits(self) -> Limits:
        """The limits, with those of --limit."""
        return _read_limits(self.limit)

    @cached_property
    def trial(self) -> Canary | None:
        """The version and share of --canary."""
        if not self.canary:
            return None
        match = re.fullmatch(r"(\d{1,9})=(\d+(?:\.\d+)?)%", self.canary)
        percent = float(match[2]) if match else 0.0
        if not match or not 0 < percent <= 50:
            raise ParamsError(
                f"--canary {self.canary!r}: expected VERSION=SHARE with a share up to 50%, such "
                "as 7=5%"
            )
        return Canary(match[1], percent / 100)

    @cached_property
    def token(self) -> str | None:
        """The token in --token-file, as it was when the server started."""
        file = self.token_file
        if file is None:
            return None
        try:
            token = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ParamsError(f"--token-file {file}: cannot be read ({error})") from None
        if not re.fullmatch(rf"[!-~]{{{MIN_TOKEN},}}", token):
            raise ParamsError(
                f"--token-file {file}: expected one token of at least {MIN_TOKEN} printable "
                "characters"
            )
        return token

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can send requests."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def _read_limits(pairs: list[str]) -> Limits:
    known = {one.name: one for one in fields(Limits)}
    changes: dict[str, Any] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        if name not in known:
            hint = suggest_nearest(name, list(known)) or f"; there are: {', '.join(known)}"
            raise ParamsError(f"--limit {pair}: unknown name{hint}")
        kind: Any = known[name].type  # int or float
        try:
            changes[name] = kind(text)
        except ValueError:
            changes[name] = math.nan
        if not 0 < changes[name] < math.inf:
            number = "a whole number" if kind is int else "a number"
            raise ParamsError(f"--limit {pair}: expected {number} above 0")
    return Limits(**changes)
