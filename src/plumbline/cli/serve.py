"""`plumbline serve`: the options, checked and turned into settings of the server."""

import ipaddress
import re
from pathlib import Path

from plumbline.cli.serve_options import (
    Agents,
    AllowedHost,
    CanaryShare,
    DeadlineS,
    Host,
    LogFolder,
    LogShare,
    MaxDisagreement,
    MaxRows,
    MaxSlowdown,
    ModelAddress,
    PollS,
    Port,
    PredictTimeout,
    QueueRows,
    QueueS,
    ReadTimeout,
    Records,
    Redact,
    Shadow,
    ShutdownTimeout,
    TokenFile,
    Workers,
)
from plumbline.contract.errors import ParamsError
from plumbline.serving.settings import Canary, Consulting, Limits, Settings

EXAMPLE = "plumbline serve models:/ticket-router@champion --port 8000"
MIN_TOKEN = 16  # characters


def serve(
    model: ModelAddress,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
    token_file: TokenFile = None,
    allowed_host: AllowedHost = [],  # noqa: B006 (typer copies it)
    canary: CanaryShare = "",
    max_disagreement: MaxDisagreement = None,
    max_slowdown: MaxSlowdown = 2.0,
    shadow: Shadow = "",
    log_folder: LogFolder = None,
    log_share: LogShare = 1.0,
    redact: Redact = None,
    agents: Agents = None,
    records: Records = None,
    poll_s: PollS = 5.0,
    deadline_s: DeadlineS = Limits.deadline_s,
    predict_timeout: PredictTimeout = Limits.predict_timeout_s,
    read_timeout: ReadTimeout = Limits.read_timeout_s,
    shutdown_timeout: ShutdownTimeout = Limits.shutdown_timeout_s,
    queue_rows: QueueRows = Limits.waiting_rows,
    queue_s: QueueS = Limits.waiting_s,
    max_rows: MaxRows = Limits.rows,
) -> None:
    """Serve a registered model over HTTP.

    MLflow's /invocations, Open Inference Protocol v2, a page at /, /metrics.
    """
    from plumbline.serving import request_log, server
    from plumbline.sources.request_folder import RequestFolder

    trial = _parse_canary(canary, max_disagreement, max_slowdown)
    if workers > 1 and trial:
        raise ParamsError("--canary: only one process can compare the answers; use --workers 1")
    token = _read_token(token_file)
    if token is None and not _is_loopback(host):
        raise ParamsError(
            f"--host {host}: anybody could send requests; add --token-file, or use 127.0.0.1"
        )
    request_log.load_redaction(redact)  # a wrong name is reported now, not at the first request
    if log_folder:
        RequestFolder(log_folder)
    limits = Limits(
        rows=max_rows,
        waiting_rows=queue_rows,
        waiting_s=queue_s,
        deadline_s=deadline_s,
        read_timeout_s=read_timeout,
        predict_timeout_s=predict_timeout,
        shutdown_timeout_s=shutdown_timeout,
    )
    server.serve(
        Settings(
            uri=model,
            host=host,
            port=port,
            workers=workers,
            token=token,
            hosts=tuple({*Settings.hosts, *_list_host_names(host), *allowed_host}),
            poll_s=poll_s,
            canary=trial,
            shadow=shadow or None,
            log=log_folder or None,
            log_share=log_share,
            redact=redact,
            consulting=_choose_consulting(agents, records),
            limits=limits,
        )
    )


def _parse_canary(text: str, max_disagreement: float | None, max_slowdown: float) -> Canary | None:
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,9})=(\d+(?:\.\d+)?)%", text)
    percent = float(match[2]) if match else 0.0
    if not match or not 0 < percent <= 50:
        raise ParamsError(
            f"--canary {text!r}: expected VERSION=SHARE with a share up to 50%, such as 7=5%"
        )
    return Canary(match[1], percent / 100, max_disagreement, max_slowdown)


def _choose_consulting(agents: Path | None, records: Path | None) -> Consulting | None:
    if agents is None:
        if records:
            raise ParamsError("--records: nobody is asked; add --agents")
        return None
    return Consulting(agents, records)


def _read_token(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ParamsError(f"--token-file {file}: cannot be read ({error})") from None
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ParamsError(
            f"--token-file {file}: expected one token of at least {MIN_TOKEN} printable characters"
        )
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _list_host_names(host: str) -> list[str]:
    """The host that requests name, unless the server listens on all addresses."""
    return [] if host in ("0.0.0.0", "::") else [host]  # noqa: S104 (compared, not listened on)
