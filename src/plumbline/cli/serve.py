"""`plumbline serve`: what a person says in the shell, checked and turned into settings."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated

import typer

from plumbline.contract.errors import ParamsError
from plumbline.serving.settings import Canary, Limits, Settings

MIN_TOKEN = 16  # characters


def serve(
    model: Annotated[
        str,
        typer.Argument(
            help="models:/NAME@ALIAS, followed when the alias moves, or models:/NAME/VERSION."
        ),
    ],
    host: Annotated[
        str, typer.Option(help="The address to listen on; beyond loopback only with --token-file.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes, each with the model.")
    ] = 1,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the bearer token that requests must carry.")
    ] = None,
    allowed_host: Annotated[
        list[str],
        typer.Option(
            help="A name by which the server may be called, besides --host and localhost."
        ),
    ] = [],  # noqa: B006
    canary: Annotated[
        str,
        typer.Option(help="VERSION=SHARE, such as 7=5%: it answers that share while it does well."),
    ] = "",
    max_disagreement: Annotated[
        float, typer.Option(min=0.001, max=0.9, help="Of the canary's answers with the champion's.")
    ] = 0.10,
    max_slowdown: Annotated[
        float, typer.Option(min=1.0, help="Of the canary's time to the champion's.")
    ] = 2.0,
    shadow: Annotated[
        str,
        typer.Option(help="VERSION that gets every request too; its answers are only compared."),
    ] = "",
    log_folder: Annotated[
        Path | None, typer.Option(help="Write requests and answers there as Parquet.")
    ] = None,
    log_share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The share of requests that is logged.")
    ] = 1.0,
    redact: Annotated[
        str | None,
        typer.Option(
            help="MODULE:FUNCTION that is given each logged row and returns what may be kept."
        ),
    ] = None,
    poll_s: Annotated[
        float, typer.Option(min=0.2, help="Seconds between looks at the registry.")
    ] = 5.0,
    deadline_s: Annotated[
        float, typer.Option(min=0.1, help="Seconds until a request is answered with 504.")
    ] = Limits.deadline_s,
    hang_s: Annotated[
        float,
        typer.Option(
            min=1,
            help="Seconds that one call of the model may take; past it the worker is replaced.",
        ),
    ] = Limits.hang_s,
    stall_s: Annotated[
        float,
        typer.Option(min=0.5, help="Seconds that headers, and then a body, may take to come."),
    ] = Limits.header_s,
    drain_s: Annotated[
        float, typer.Option(min=1, help="Seconds that SIGTERM leaves for what is under way.")
    ] = Limits.drain_s,
    queue_rows: Annotated[
        int, typer.Option(min=1, help="Rows that may wait; past it requests get 429.")
    ] = Limits.waiting_rows,
    max_rows: Annotated[int, typer.Option(min=1, help="Rows in one request.")] = Limits.rows,
) -> None:
    """Serve a registered model over HTTP: MLflow's /invocations, Open Inference Protocol v2, a page at /, /metrics."""
    from plumbline.serving import requestlog, server

    trial = _canary(canary, max_disagreement, max_slowdown)
    if workers > 1 and trial:
        raise ParamsError("--canary: one process judges it; say --workers 1")
    token = _token(token_file)
    if token is None and not _is_loopback(host):
        raise ParamsError(
            f"--host {host}: anybody could ask; give a --token-file, or listen on 127.0.0.1"
        )
    requestlog.redaction(redact)  # a wrong name is told now
    server.serve(
        Settings(
            uri=model,
            host=host,
            port=port,
            workers=workers,
            token=token,
            hosts=tuple({*Settings.hosts, *_named_host(host), *allowed_host}),
            poll_s=poll_s,
            canary=trial,
            shadow=shadow or None,
            log=log_folder,
            log_share=log_share,
            redact=redact,
            limits=Limits(
                rows=max_rows,
                waiting_rows=queue_rows,
                deadline_s=deadline_s,
                header_s=stall_s,
                body_s=stall_s,
                hang_s=hang_s,
                drain_s=drain_s,
            ),
        )
    )


def _canary(text: str, max_disagreement: float, max_slowdown: float) -> Canary | None:
    if not text:
        return None
    found = re.fullmatch(r"(\d{1,9})=(\d+(?:\.\d+)?)%", text)
    if not found or not 0 < float(found[2]) <= 50:
        raise ParamsError(
            f"--canary {text!r}: expected VERSION=SHARE with a share up to 50%, such as 7=5%"
        )
    return Canary(found[1], float(found[2]) / 100, max_disagreement, max_slowdown)


def _token(file: Path | None) -> str | None:
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


def _named_host(host: str) -> list[str]:
    """The host that requests name, unless the server listens on all addresses."""
    return [] if host in ("0.0.0.0", "::") else [host]  # noqa: S104
