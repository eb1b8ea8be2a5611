"""The page on the server: routes of its description, limits and codes of its errors."""

import re
from dataclasses import asdict
from pathlib import Path

from fastapi.openapi.utils import get_openapi

from plumbline.serving.app import create_app
from plumbline.serving.responses import ERROR_CODES, MORE_HEADERS
from plumbline.serving.settings import Limits, Settings

SOURCE = Path(__file__).parents[1] / "src"
CODE = re.compile(r'\b(\d{3}),\s*"([A-Z_]+)"')
VERSIONS = "/versions/{version}"
ROUTES = {
    "POST /invocations": "MLflow's `inputs`, `instances`, `dataframe_split`, `dataframe_records` "
    "and `params`, or CSV",
    "POST /v1/embeddings": "vectors, as by OpenAI's clients, and errors in their form; of "
    "[retrieval](../tasks/retrieval.md), and of models with its outputs and parameters",
    "POST /v2/models/{name}/infer": "Open Inference Protocol v2",
    "GET /v2": "what the server can",
    "GET /v2/models/{name}": "inputs and outputs of the model",
    "GET /v2/models/{name}/ready": "200 for the champion, else 404",
    "GET /v2/health/ready": "200 once the model has answered its golden rows",
    "GET /health": "the same",
    "GET /ping": "the same",
    "GET /v2/health/live": "200 as long as the process can answer",
    "GET /version": "which bundle answers, and any problem",
    "GET /metrics": "figures for Prometheus",
}
LIMITS = {
    "queue_rows": "rows in the queue of a worker; beyond it 429",
    "max_rows": "rows in a request; beyond it 413",
    "body_bytes": "bytes of a body; beyond it 413",
    "batch_rows": "rows in one call of the model; the others wait",
    "connections": "connections of a worker; beyond it 503",
    "deadline_s": "seconds for a request; beyond it 504",
    "read_timeout_s": "seconds for the body; beyond it 408",
    "predict_timeout_s": "seconds for one call of the model; then the worker is replaced",
    "shutdown_timeout_s": "seconds after SIGTERM; then requests are dropped",
    "poll_s": "seconds between two queries to the registry",
    "log_share": "share of requests in the log",
    "log_days": "days for which a local log is kept",
    "log_mb": "megabytes of a local log; beyond it the oldest files go earlier",
    "max_disagreement": "share of rows on which a canary may differ; beyond it, it is stopped",
    "canary_servers": "servers that carry the canary: each judges at 1 % divided by these",
}
PAGE = """# The server: routes, limits and errors

[How to start it](../how-to/serving.md), [its options](commands.md#plumbline-serve). This page is
generated: `make docs` writes it.

## Routes

{routes}
* `POST /consult`: with `--agents`: [the policy asks agents](../how-to/consult.md#over-http)
* `GET /openapi.json`: the description of the routes
* `GET /`, `GET /docs`: a page to try the model; `/docs` on loopback only, with scripts from the
  internet

Each route of a model is there with `/versions/{{version}}` behind its name, too. `HEAD` is answered
wherever `GET` is. Every route but `/` and the health routes needs the token, if there is one. Host
names other than those of `--allowed-host`, and cross-origin requests, are refused; the health
routes are answered under any name.

`infer` takes JSON tensors and binary ones (`tritonclient.http`), and answers JSON. There is no
gRPC. CSV is read as [`plumbline score`](../how-to/score.md) reads it. JSON is strict: no duplicate
keys, no NaN.

Each answer carries an `x-request-id`, as each logged row does (`request_id`): the request's own,
where it has at most 128 letters, digits and `._:/+=@-`. An output named `picture` that begins with
`<svg ` is shown as an image on the page, in which no script runs.

`OTEL_EXPORTER_OTLP_ENDPOINT` names an OpenTelemetry collector for traces and metrics; the end of
the server waits at most 2 seconds for each.

## Limits

`plumbline serve --limit NAME=VALUE` changes one; the option may be repeated.

| name | default | what |
|---|---|---|
{limits}

## Errors

An error is `{{"error_code", "message", "error"}}`. Its message names row and column, and repeats
nothing of the request.

{errors}

Where next: [start it, log requests](../how-to/serving.md), [a canary](../how-to/canary.md).
"""


def write_page() -> str:
    """Return the page; KeyError names a route or a limit that is not described, or is no more."""
    paths = list_routes()
    defaults = asdict(Limits())
    for described, found in ((ROUTES, paths), (LIMITS, defaults)):
        if described.keys() != set(found):
            raise KeyError(f"{Path(__file__).name}: {described.keys() ^ set(found)}")
    return PAGE.format(
        routes="\n".join(f"* `{route}`: {what}" for route, what in ROUTES.items()),
        limits="\n".join(
            f"| `{name}` | {defaults[name]:,.10g} | {what} |" for name, what in LIMITS.items()
        ),
        errors="\n".join(list_errors()),
    )


def list_routes() -> list[str]:
    """Return the routes, without those of a version, which others have too."""
    app = create_app(Settings(model="models:/m/1"))
    paths = get_openapi(title="-", version="1", routes=app.routes)["paths"]
    routes = [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]
    return [route for route in routes if VERSIONS not in route]


def list_errors() -> list[str]:
    """Return a line for each status, with the codes that the code names."""
    found = {(str(status), code) for status, code in ERROR_CODES.items()}
    for package in ("plumbline/serving", "plumbline_consult"):
        for path in SOURCE.joinpath(package).rglob("*.py"):
            found |= set(CODE.findall(path.read_text(encoding="utf-8")))
    lines = []
    for status in sorted({status for status, _ in found}):
        codes = ", ".join(f"`{code}`" for other, code in sorted(found) if other == status)
        more = ", with `Retry-After`" if "retry-after" in MORE_HEADERS.get(int(status), {}) else ""
        lines.append(f"* {status}: {codes}{more}")
    return lines
