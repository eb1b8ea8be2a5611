"""The real server over HTTP: its contracts, its errors, its failures."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from tests.support.serving.lines import MOODY, READY_S, Lines, Server, serving
from tests.support.serving.moody import DIES, HANGS, NAN, RAISES, SLOW

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")
JSON = {"content_type": "application/json"}


@pytest.fixture(scope="module")
def server(registered: Lines) -> Iterator[Server]:
    with serving(registered, uri="models:/line/1") as found:
        yield found


@pytest.mark.parametrize(
    "body",
    [
        {"inputs": [0.0, 1]},
        {"inputs": {"x": [0.0, 1.0]}},
        {"instances": [{"x": 0.0}, {"x": 1.0}]},
        {"dataframe_records": [{"x": 0.0}, {"x": 1.0}]},
        {"dataframe_split": {"columns": ["x"], "data": [[0.0], [1.0]]}},
        {
            "dataframe_split": {"columns": ["x"], "index": [7, 8], "data": [[0.0], [1.0]]},
            "params": {},
        },
    ],
)
def test_every_layout_of_mlflows_contract(server: Server, body: dict) -> None:
    status, headers, raw = server.ask("POST", "/invocations", json.dumps(body), **JSON)
    assert (status, json.loads(raw)) == (200, {"predictions": [{"y": 1.0}, {"y": 3.0}]})
    assert (headers["x-plumbline-version"], headers["x-plumbline-side"]) == ("1", "champion")


def test_csv(server: Server) -> None:
    status, _, raw = server.ask(
        "POST", "/invocations", "x\r\n0\r\n1.5\r\n", content_type="text/csv; charset=utf-8"
    )
    assert (status, json.loads(raw)) == (200, {"predictions": [{"y": 1.0}, {"y": 4.0}]})


def test_open_inference_protocol(server: Server) -> None:
    for path in (
        "/v2/health/live",
        "/v2/health/ready",
        "/v2/models/line/ready",
        "/v2/models/line/versions/1/ready",
    ):
        assert server.ask("GET", path)[0] == 200, path
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


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (b"", 400, "invalid body: not valid JSON: expecting value"),
        (b"3", 400, "one of"),
        (b"{}", 400, "exactly one of"),
        (b'{"inputs": [1], "instances": [1]}', 400, "exactly one of"),
        (b'{"inputs": [1], "inputs": [2]}', 400, "same key twice"),
        (b'{"inputs": [NaN]}', 400, "NaN"),
        (b'{"inputs": [1e999]}', 400, "beyond the range"),
        (b'{"inputs": [' + b"9" * 5000 + b"]}", 400, "too many digits"),
        (b'{"inputs": [' + b"9" * 309 + b"]}", 400, "out of range"),
        (b"[" * 100_000 + b"]" * 100_000, 400, "nested more than"),
        (b'{"inputs": ["\xff"]}', 400, "not UTF-8"),
        (b'{"inputs": ["1"]}', 400, "row 0: x: expected double, found text"),
        (b'{"inputs": [true]}', 400, "found a boolean"),
        (b'{"inputs": [1, null]}', 400, "row 1: x: expected double, found null"),
        (b'{"inputs": [[1]]}', 400, "found a list"),
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
    assert set(error) == {"error_code", "message"}
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
    ],
)
def test_headers(server: Server, headers: dict, status: int) -> None:
    assert server.ask("POST", "/invocations", '{"inputs": [1]}', **headers)[0] == status


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/nope", 404),
        ("GET", "//etc/passwd", 404),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "/invocations", 405),
        ("DELETE", "/invocations", 405),
        ("OPTIONS", "/invocations", 405),
        ("TRACE", "/", 405),
        ("HEAD", "/ping", 405),
    ],
)
def test_routes(server: Server, method: str, path: str, status: int) -> None:
    assert server.ask(method, path)[0] == status


def test_tokens(lines: Lines) -> None:
    token = lines.folder / "token"
    token.write_text("correct-horse-battery\n", encoding="utf-8")
    with serving(lines, "--token-file", str(token)) as server:
        routes = json.loads(
            server.ask("GET", "/openapi.json", authorization="Bearer correct-horse-battery")[2]
        )["paths"]
        for path in {*routes, "/", "/openapi.json"}:
            open_ = path in ("/", "/ping", "/health", "/v2/health/live", "/v2/health/ready")
            for method in ("GET", "POST"):
                status = server.ask(
                    method, path.replace("{name}", "line").replace("{version}", "1")
                )[0]
                assert (status == 401) != open_, (method, path, status)
        assert server.predict(1.0, authorization="Bearer wrong-horse-battery!")[0] == 401
        assert server.predict(1.0, authorization="Bearer correct-horse-battery")[0] == 200
        assert server.ask("GET", "/version?token=correct-horse-battery")[0] == 401
    assert "correct-horse" not in server.log.read_text()


def test_beyond_loopback_a_token_is_required(lines: Lines) -> None:
    with serving(lines, "--host", "0.0.0.0", ready=False) as server:  # noqa: S104
        assert server.process.wait(timeout=READY_S) == 2
    assert "add --token-file" in server.log.read_text()
    assert "Traceback" not in server.log.read_text()


def test_no_such_model(lines: Lines) -> None:
    with serving(lines, uri="models:/nobody@champion", ready=False) as server:
        assert server.process.wait(timeout=READY_S) == 1
    assert "nobody" in server.log.read_text()
    assert "Traceback" not in server.log.read_text()


def test_failures_of_the_model(lines: Lines) -> None:
    with serving(lines, uri=f"models:/line/{MOODY}") as server:
        status, _, error = server.predict(RAISES)
        assert (status, error["error_code"]) == (500, "MODEL_FAILED")
        assert "secret" not in error["message"]
        assert "a secret of the model" in server.log.read_text()
        assert server.predict(NAN)[0] == 500
        with ThreadPoolExecutor(8) as pool:  # one bad row does not affect other requests
            slow = pool.submit(server.predict, SLOW)
            time.sleep(0.2)
            others = [pool.submit(server.predict, x) for x in (1.0, RAISES, 2.0)]
            assert slow.result()[0] == 200
            assert [other.result()[0] for other in others] == [200, 500, 200]
        with pytest.raises(OSError):  # noqa: PT011  the worker dies during the answer
            server.predict(DIES)
        server.wait(lambda: _answers(server), READY_S)
        assert server.predict(1.0)[2] == {"predictions": [{"y": 3.0}]}


def test_a_model_that_hangs_gives_504_and_its_worker_is_replaced(
    lines: Lines,
) -> None:
    with serving(
        lines, "--deadline-s", "1", "--predict-timeout", "2", uri=f"models:/line/{MOODY}"
    ) as server:
        assert server.predict(HANGS)[0] == 504
        server.wait(lambda: "this worker exits" in server.log.read_text())
        server.wait(lambda: _answers(server), READY_S)


def test_a_full_queue_refuses_at_once_and_health_checks_still_pass(lines: Lines) -> None:
    with (
        serving(lines, "--queue-rows", "4", uri=f"models:/line/{MOODY}") as server,
        ThreadPoolExecutor(24) as pool,
    ):
        requests = [pool.submit(server.predict, SLOW) for _ in range(16)]
        time.sleep(0.2)
        assert server.ask("GET", "/ping")[0] == 200
        responses = [request.result() for request in requests]
        refused = [headers for status, headers, _ in responses if status == 429]
        assert {status for status, _, _ in responses} == {200, 429}
        assert all(headers["retry-after"] for headers in refused)
        assert server.predict(1.0)[0] == 200


def test_slow_headers_and_slow_bodies_are_closed(lines: Lines) -> None:
    with serving(lines, "--read-timeout", "1") as server:
        head = b"POST /invocations HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        head += b"Content-Type: application/json\r\nContent-Length: 90\r\n"
        for start in (b"", head[:20], head, head + b"\r\n{"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
                connection.sendall(start)
                begun = time.monotonic()
                answer = connection.recv(1000)
                assert answer == b"" or answer.startswith(b"HTTP/1.1 408"), start
                assert time.monotonic() - begun < 8
        assert server.predict(1.0)[0] == 200


def _answers(server: Server) -> bool:
    try:
        return server.predict(1.0)[0] == 200
    except OSError:
        return False


def test_traces_go_to_the_collector_that_the_environment_names(lines: Lines) -> None:
    got: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.path)
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    collector = HTTPServer(("127.0.0.1", 0), Collector)
    Thread(target=collector.serve_forever, daemon=True).start()
    named = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }
    with serving(lines, **named) as server:
        server.predict(1.0)
        server.wait(lambda: "/v1/traces" in got)
    collector.shutdown()
