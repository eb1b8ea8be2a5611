"""Routes that ask the model answer the same with and without the framework's layers around them.

Where a collector of traces is named, every request passes through all layers.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.serving import oracle
from tests.support.serving.lines import Lines, Server, serving
from tests.support.serving.wide import FAILS, NAN
from tests.support.serving.wire import CANARY, Connection, Got, post

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")
NOBODY = "http://127.0.0.1:9"
CHANGING = ("date", "x-request-id", "x-plumbline-ms")
TEXT = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}


@pytest.fixture(scope="module")
def servers(wide: Lines) -> Iterator[tuple[Server, Server]]:
    """Serve the model `wide` twice; the second is traced."""
    uri = "models:/wide@champion"
    with (
        serving(wide, uri=uri, ready=False) as direct,
        serving(wide, uri=uri, OTEL_EXPORTER_OTLP_ENDPOINT=NOBODY) as traced,
    ):
        direct.wait(lambda: is_listening(direct))
        yield direct, traced


def is_listening(server: Server) -> bool:
    try:
        return server.ask("GET", "/ping")[0] == 200
    except OSError:
        return False


def encode_rows(**changes: Any) -> bytes:
    return json.dumps({"dataframe_records": [oracle.ROW | {"text": CANARY} | changes]}).encode()


def encode_tensors(*names: str) -> bytes:
    tensors = [
        TEXT,
        {"name": "count", "datatype": "INT64", "shape": [1], "data": [1]},
        {"name": "ratio", "datatype": "FP64", "shape": [1], "data": [0.5]},
        {"name": "yes", "datatype": "BOOL", "shape": [1], "data": [True]},
        {"name": "marks", "datatype": "FP64", "shape": [1, 2], "data": [1.0, 2.0]},
    ]
    kept = [tensor for tensor in tensors if tensor["name"] not in names]
    return json.dumps({"id": "a", "inputs": kept}).encode()


REQUESTS = {
    "right": post("/invocations", encode_rows()),
    "CSV": post("/invocations", b"text,count,ratio,yes,marks\na,1,0.5,true,[1]\n", "text/csv"),
    "not JSON": post("/invocations", b"{"),
    "wrong type": post("/invocations", encode_rows(count="1")),
    "another format": post("/invocations", b"a", "text/plain"),
    "a failing model": post("/invocations", encode_rows(text=FAILS)),
    "no number": post("/invocations", encode_rows(text=NAN)),
    "too many bytes": post("/invocations", b" " * 4_000_001),
    "another method": post("/invocations", b"").replace(b"POST", b"PUT", 1),
    "a path with an end": post("/invocations/", encode_rows()),
    "an escaped path": post("/%69nvocations", encode_rows()),
    "no Host": post("/invocations", b"").replace(b"Host: 127.0.0.1\r\n", b""),
    "tensors": post("/v2/models/wide/infer", encode_tensors()),
    "tensors for a version": post("/v2/models/wide/versions/1/infer", encode_tensors()),
    "a missing tensor": post("/v2/models/wide/infer", encode_tensors("count")),
    "another model": post("/v2/models/other/infer", encode_tensors()),
    "another version": post("/v2/models/wide/versions/2/infer", encode_tensors()),
    "tensors, another method": post("/v2/models/wide/infer", b"").replace(b"POST", b"GET", 1),
}


def ask(server: Server, raw: bytes) -> Got:
    """Return the answer without what differs from request to request."""
    connection = Connection(server.port)
    try:
        got = connection.ask(raw)
    finally:
        connection.close()
    headers = {name: "" if name in CHANGING else value for name, value in got.headers.items()}
    body = re.sub(rb"reference [0-9a-f]{12}", b"reference", got.body)
    return Got(got.status, headers, body)


@pytest.mark.parametrize("name", REQUESTS)
def test_an_answer_is_the_frameworks(servers: tuple[Server, Server], name: str) -> None:
    direct, traced = (ask(server, REQUESTS[name]) for server in servers)
    assert direct == traced
    assert list(direct.headers) == list(traced.headers)
    if name in ("right", "CSV", "tensors", "tensors for a version", "an escaped path"):
        assert direct.status == 200


def test_requests_are_counted_under_the_same_routes(servers: tuple[Server, Server]) -> None:
    before = [read_counts(server) for server in servers]
    for raw in REQUESTS.values():
        for server in servers:
            ask(server, raw)
    direct, traced = (
        {name: count - counts.get(name, 0) for name, count in read_counts(server).items()}
        for server, counts in zip(servers, before, strict=True)
    )
    assert direct == traced
    assert direct['plumbline_requests_total{route="/invocations",status="200"}'] == 3


def read_counts(server: Server) -> dict[str, float]:
    """Return how many requests the routes that ask the model have had, by route and status."""
    counts = {}
    for line in server.ask("GET", "/metrics")[2].decode().splitlines():
        name, _, count = line.rpartition(" ")
        if re.match(r'plumbline_requests_total{route="/(invocations|v2/models)', name):
            counts[name] = float(count)
    return counts
