"""The options of `plumbline serve`: their types, limits and help."""

from pathlib import Path
from typing import Annotated

import typer

ModelAddress = Annotated[
    str,
    typer.Argument(
        help="models:/NAME@ALIAS, followed when the alias moves, or models:/NAME/VERSION."
    ),
]
Host = Annotated[
    str,
    typer.Option(help="The address to listen on; other than loopback only with --token-file."),
]
Port = Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")]
Workers = Annotated[
    int, typer.Option(min=1, max=64, help="Number of processes, each with the model.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        help="A file with the bearer token that requests must carry.", show_default="no token"
    ),
]
AllowedHost = Annotated[
    list[str],
    typer.Option(
        help="A host name that requests may use besides --host and localhost. May be repeated.",
        show_default="no other name",
    ),
]
CanaryShare = Annotated[
    str,
    typer.Option(
        help="VERSION=SHARE, such as 7=5%: this version answers that share of the requests, "
        "until it does worse than the champion.",
        show_default="no canary",
    ),
]
MaxDisagreement = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        max=1.0,
        help="Largest share of rows on which the canary may differ from the champion.",
        show_default="what the canary's evidence measured against this champion, and 5 points",
    ),
]
MaxSlowdown = Annotated[
    float,
    typer.Option(
        min=1.0, help="Largest response time of the canary, as a multiple of the champion's."
    ),
]
Shadow = Annotated[
    str,
    typer.Option(
        help="A version that also gets every request; its answers are only compared.",
        show_default="no shadow",
    ),
]
LogFolder = Annotated[
    str | None,
    typer.Option(
        help="The folder, or the address such as s3://bucket/requests, to which requests and "
        "answers are logged as Parquet.",
        show_default="no log",
    ),
]
LogShare = Annotated[float, typer.Option(min=0.0, max=1.0, help="The share of requests to log.")]
Redact = Annotated[
    str | None,
    typer.Option(
        help="MODULE:FUNCTION that gets each row before it is logged and returns what may be kept.",
        show_default="rows are logged as they are",
    ),
]
Agents = Annotated[
    Path | None,
    typer.Option(
        help="agents.yaml of a policy: adds the route /consult, which asks its agents.",
        show_default="no such route",
    ),
]
Records = Annotated[
    Path | None,
    typer.Option(
        help="With --agents: the file to which every answer of an agent is appended.",
        show_default="no records",
    ),
]
PollS = Annotated[float, typer.Option(min=0.2, help="Seconds between queries to the registry.")]
DeadlineS = Annotated[
    float, typer.Option(min=0.1, help="Seconds until a request is answered with 504.")
]
PredictTimeout = Annotated[
    float,
    typer.Option(
        min=1, help="Seconds that one call of the model may take; then its worker is replaced."
    ),
]
ReadTimeout = Annotated[
    float,
    typer.Option(min=0.5, help="Seconds in which a request's headers, then its body, must arrive."),
]
ShutdownTimeout = Annotated[
    float,
    typer.Option(min=1, help="Seconds to answer pending requests after SIGTERM."),
]
QueueRows = Annotated[
    int, typer.Option(min=1, help="Rows that may wait; further requests get 429.")
]
QueueS = Annotated[
    float,
    typer.Option(
        min=0.01,
        help="Seconds that requests may wait, by the model's present speed; further ones get 429.",
    ),
]
MaxRows = Annotated[int, typer.Option(min=1, help="Rows in one request.")]
