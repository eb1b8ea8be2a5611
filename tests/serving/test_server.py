"""The real server over HTTP: its contracts, its errors, who may ask."""

import json
import socket
import struct
from collections.abc import Iterator

import pytest
from tests.support.serving.lines import READY_S, Lines, Server, serving

from plumbline.contract.errors import ParamsError
from plumbline.serving.settings import Limits, Settings

JSON = {"content_type": "application/json"}


@pytest.fixture(scope="module")
def server(registered: Lines) -> Iterator[Server]:
    with serving(registered, uri="models:/line/1") as found:
        yield found


def test_open_inference_protocol(server: Server) -> None:
    metadata = json.loads(server.ask("GET", "/v2/models/line")[2])
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP64", "shape": [-1]}]
    body = {
        "id": "a",
        "inputs": [{"name": "x", "shape": [2, 1], "datatype": "FP32", "data": [[0.0], [1.0]]}],
    }
    status, _, raw = server.ask(
        "POST", "/v2/models/line/versions/1/infer", json.dumps(body), **JSON
    )
    assert status == 200
    assert json.loads(raw) == {
        "id": "a",
        "model_name": "line",
        "model_version": "1",
        "outputs": [{"name": "y", "datatype": "FP64", "shape": [2], "data": [1.0, 3.0]}],
    }
    assert server.ask("GET", "/v2/models/other")[0] == 404
    assert (
        server.ask("POST", "/v2/models/line/versions/2/infer", json.dumps(body), **JSON)[0] == 404
    )


def test_a_request_as_kserves_client_sends_it(server: Server) -> None:
    """InferenceRESTClient of kserve 0.21: the body names the model too, and every request an id."""
    tensor = {"name": "x", "shape": [2], "datatype": "FP64", "data": [0.0, 1.0]}
    body = {"id": "a", "model_name": "line", "inputs": [tensor]}
    status, _, raw = server.ask("POST", "/v2/models/line/infer", json.dumps(body), **JSON)
    assert (status, json.loads(raw)["outputs"][0]["data"]) == (200, [1.0, 3.0])
    for name in ("other", 1, ["line"]):
        body["model_name"] = name
        status, _, raw = server.ask("POST", "/v2/models/line/infer", json.dumps(body), **JSON)
        assert (status, "model_name" in json.loads(raw)["message"]) == (400, True)


def test_a_request_as_javas_client_sends_it(server: Server) -> None:
    """HttpClient offers HTTP/2 in the first request of a connection; the body comes afterwards."""
    head = "POST /invocations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 17\r\n"
    head += "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
    head += "Upgrade: h2c\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=READY_S) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
        connection.sendall(b'{"inputs": [1.0]}')
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_request_as_the_standard_client_sends_it(server: Server) -> None:
    """tritonclient 2.73: no Content-Type, binary tensors, parameters for the server."""
    tensor = {"name": "x", "datatype": "FP32", "shape": [2], "parameters": {"binary_data_size": 8}}
    asked = {"binary_data_output": True, "priority": 1, "timeout": 1000}
    outputs = [{"name": "y", "parameters": {"binary_data": True}}]
    body = {"inputs": [tensor], "outputs": outputs, "parameters": asked}
    head = json.dumps(body).encode()
    sizes = {"inference_header_content_length": str(len(head))}
    path = "/v2/models/line/infer"
    values = struct.pack("<2f", 0.0, 1.5)
    status, _, raw = server.ask("POST", path, head + values, **sizes)
    (output,) = json.loads(raw)["outputs"]
    assert (status, output["name"], output["data"]) == (200, "y", [1.0, 4.0])
    for wrong in (head + values[:-1], head + values + b" "):
        status, _, raw = server.ask("POST", path, wrong, **sizes)
        assert (status, "binary" in json.loads(raw)["error"]) == (400, True)
    not_a_number = struct.pack("<2f", 0.0, float("nan"))
    assert server.ask("POST", path, head + not_a_number, **sizes)[0] == 400
    unknown = {"inputs": [{"name": "x", "datatype": "FP64", "shape": [1], "data": [1.0]}]}
    unknown["outputs"] = [{"name": "z"}]
    status, _, raw = server.ask("POST", path, json.dumps(unknown))
    assert (status, json.loads(raw)["error"]) == (
        400,
        "outputs: expected names of y, each at most once",
    )


HEALTH = {
    "/ping": {"ready": True},
    "/health": {"ready": True},
    "/v2/health/ready": {"ready": True},
    "/v2/health/live": {"live": True},
    "/v2/models/line/ready": {"name": "line", "ready": True},
    "/v2/models/line/versions/1/ready": {"name": "line", "ready": True},
}


@pytest.mark.parametrize("path", HEALTH)
def test_a_probe_that_names_the_address_of_a_pod_is_answered(server: Server, path: str) -> None:
    """Kubernetes calls by IP address, which no --allowed-host can name before the pod exists."""
    for host in ("10.42.0.7:8000", "10.42.0.7", "[fd00::7]:8000", "[FD00::7]"):
        status, headers, raw = server.ask("GET", path, host=host)
        assert (status, json.loads(raw)) == (200, HEALTH[path]), host
        assert headers["content-type"] == "application/json"
    assert server.ask("GET", path, host="10.42.0.7", origin="https://evil.example")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v2/models/line",
        "/v2/models/line/versions/ready",
        "/v2/models/line/versions/1",
        "/health/../version",
        "/health/",
    ],
)
def test_all_other_routes_are_answered_by_name_only(server: Server, path: str) -> None:
    status, _, raw = server.ask("GET", path, host="10.42.0.7:8000")
    assert (status, json.loads(raw)["error_code"]) == (421, "WRONG_HOST")


def test_the_readiness_of_an_unknown_model_does_not_tell_what_is_served(server: Server) -> None:
    for path in ("/v2/models/other/ready", "/v2/models/line/versions/7/ready"):
        status, _, raw = server.ask("GET", path, host="10.42.0.7:8000")
        error = json.loads(raw)
        assert (status, error["error_code"]) == (404, "NO_SUCH_MODEL")
        assert "version 1" not in error["message"]


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (b"", 400, "invalid body: not valid JSON: expecting value"),
        (b"{}", 400, "exactly one of"),
        (b'{"inputs": [1], "instances": [1]}', 400, "exactly one of"),
        (b'{"inputs": [1], "inputs": [2]}', 400, "same key twice"),
        (b'{"inputs": [NaN]}', 400, "NaN"),
        (b'{"inputs": [1e999]}', 400, "beyond the range"),
        (b'{"inputs": [' + b"9" * 5000 + b"]}", 400, "too many digits"),
        (b"[" * 100_000 + b"]" * 100_000, 400, "endless nesting"),
        (b'{"inputs": ["\xff"]}', 400, "not UTF-8"),
        (b'{"inputs": ["1"]}', 400, "row 0: x: expected double, found text"),
        (b'{"inputs": [1, null]}', 400, "row 1: x: expected double, found null"),
        (b'{"inputs": []}', 400, "no rows in the request"),
        (b'{"inputs": {"y": [1]}}', 400, "missing column 'x'"),
        (b'{"inputs": {"x": [1], "y": [1]}}', 400, "column 2 is unknown; the model takes x"),
        (b'{"inputs": {"x": 1}}', 400, "a list of values"),
        (
            b'{"dataframe_split": {"columns": ["x"], "data": [[1], [1, 2]]}}',
            400,
            "row 1: expected a list of 1 values",
        ),
        (b'{"dataframe_split": {"columns": ["x", "x"], "data": [[1, 2]]}}', 400, "unique names"),
        (
            b'{"dataframe_records": [{"x": 1}, {"z": 1}]}',
            400,
            "row 1: its columns differ from those of row 0",
        ),
        (
            b'{"inputs": [1], "params": {"top_k": 3}}',
            400,
            "params: unknown name; the model takes none",
        ),
        (b'{"inputs": [1], "params": [3]}', 400, "params: expected an object"),
        (b'{"inputs": [' + b"1," * 1024 + b"1]}", 413, "too many rows; at most 1024"),
        (b'{"inputs": ["' + b"a" * 4_000_001 + b'"]}', 413, "at most 4000000 bytes"),
    ],
)
def test_an_invalid_body_is_refused_with_a_short_message(
    server: Server, body: bytes, status: int, expected: str
) -> None:
    actual, _, raw = server.ask("POST", "/invocations", body, **JSON)
    error = json.loads(raw)
    assert actual == status
    assert expected in error["message"]
    assert set(error) == {"error_code", "message", "error"}
    assert len(raw) < 400


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "multipart/form-data; boundary=x"}, 415),
        ({"content_type": "APPLICATION/JSON"}, 200),
        ({"content_type": "application/json; charset=utf-8"}, 200),
        ({"content_type": "application/json; charset=latin-1"}, 415),
        (JSON | {"content_encoding": "gzip"}, 415),
        (JSON | {"host": "evil.example"}, 421),
        (JSON | {"origin": "https://evil.example"}, 403),
        (JSON | {"origin": "null"}, 403),
        (JSON | {"origin": "http://localhost"}, 200),
        (JSON | {"origin": "foo://localhost"}, 403),
    ],
)
def test_headers(server: Server, headers: dict, status: int) -> None:
    assert server.ask("POST", "/invocations", '{"inputs": [1]}', **headers)[0] == status


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/nope", 404),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "/invocations", 405),
        ("DELETE", "/invocations", 405),
        ("TRACE", "/", 405),
        ("GET", "/docs", 200),
        ("HEAD", "/ping", 200),
        ("HEAD", "/v2/models/line/infer", 405),
    ],
)
def test_routes(server: Server, method: str, path: str, status: int) -> None:
    assert server.ask(method, path)[0] == status


def test_tokens(lines: Lines) -> None:
    token = lines.path / "token"
    token.write_text("correct-horse-battery\n", encoding="utf-8")
    with serving(lines, "--token-file", str(token)) as server:
        routes = json.loads(
            server.ask("GET", "/openapi.json", authorization="Bearer correct-horse-battery")[2]
        )["paths"]
        for path in {*routes, "/", "/openapi.json"}:
            open_ = path == "/" or path in HEALTH or path.endswith("/ready")
            for method in ("GET", "POST"):
                status = server.ask(
                    method, path.replace("{name}", "line").replace("{version}", "1")
                )[0]
                assert (status == 401) != open_, (method, path, status)
        assert server.ask("GET", "/docs", authorization="Bearer correct-horse-battery")[0] == 200
        assert server.predict(1.0, authorization="Bearer wrong-horse-battery!")[0] == 401
        assert server.predict(1.0, authorization="Bearer correct-horse-battery")[0] == 200
        assert server.ask("GET", "/version?token=correct-horse-battery")[0] == 401
    assert "correct-horse" not in server.log.read_text()


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ("deadline=1", "unknown name (did you mean deadline_s?)"),
        ("poll_s", "expected a number above 0"),
        ("poll_s=inf", "expected a number above 0"),
        ("queue_rows=1.5", "expected a whole number above 0"),
    ],
)
def test_a_limit_that_is_wrong_is_named(limit: str, problem: str) -> None:
    with pytest.raises(ParamsError) as refused:
        Settings("models:/line/1", limit=["max_rows=7", limit])
    assert str(refused.value) == f"--limit {limit}: {problem}"


def test_limits_that_are_given_replace_the_others() -> None:
    limits = Settings("models:/line/1", limit=["max_rows=7", "log_share=0.1"]).limits
    assert (limits.max_rows, limits.log_share, limits.queue_rows) == (7, 0.1, Limits.queue_rows)


@pytest.mark.parametrize(
    ("option", "uri", "status", "words"),
    [
        (("--host", "0.0.0.0"), "models:/line/1", 2, "add --token-file"),  # noqa: S104
        ((), "models:/nobody@champion", 1, "nobody"),
    ],
)
def test_a_server_that_may_not_or_cannot_serve_says_so(
    lines: Lines, option: tuple[str, ...], uri: str, status: int, words: str
) -> None:
    with serving(lines, *option, uri=uri, ready=False) as server:
        assert server.process.wait(timeout=READY_S) == status
    said = server.log.read_text()
    assert words in said
    assert "Traceback" not in said
