"""A model that fails, hangs or is slow, clients that are slow, and a collector of traces."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.support.loopback import Answer, Request, serve_answers
from tests.support.serving.lines import MOODY, READY_S, Lines, Server, serving
from tests.support.serving.moody import DIES, HANGS, NAN, QUITS, RAISES, SLOW


def test_failures_of_the_model(lines: Lines) -> None:
    with serving(lines, uri=f"models:/line/{MOODY}") as server:
        status, _, error = server.predict(RAISES)
        assert (status, error["error_code"]) == (500, "MODEL_FAILED")
        assert "secret" not in error["message"]
        assert "a secret of the model" in server.log.read_text()
        assert server.predict(NAN)[0] == 500
        assert server.predict(QUITS)[0] == 500  # it would end its process
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


def test_a_model_that_hangs_gives_504_and_its_worker_is_replaced(lines: Lines) -> None:
    with serving(
        lines,
        "--limit",
        "deadline_s=1",
        "--limit",
        "predict_timeout_s=2",
        uri=f"models:/line/{MOODY}",
    ) as server:
        assert server.predict(HANGS)[0] == 504
        server.wait(lambda: "this worker exits" in server.log.read_text())
        server.wait(lambda: _answers(server), READY_S)


def test_a_body_that_does_not_come_is_refused(lines: Lines) -> None:
    with serving(lines, "--limit", "read_timeout_s=1") as server:
        head = b"POST /invocations HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        head += b"Content-Type: application/json\r\nContent-Length: 90\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=600) as connection:
            connection.sendall(head + b"\r\n{")
            assert connection.recv(1000).startswith(b"HTTP/1.1 408")
        assert server.predict(1.0)[0] == 200


def _answers(server: Server) -> bool:
    try:
        return server.predict(1.0)[0] == 200
    except OSError:
        return False


def test_traces_go_to_the_collector_that_the_environment_names(lines: Lines) -> None:
    got: list[str] = []

    def collect(request: Request) -> Answer:
        got.append(request.path)
        return Answer()

    with serve_answers(collect) as address:
        named = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_BSP_SCHEDULE_DELAY": "200"}
        with serving(lines, **named) as server:
            server.predict(1.0)
            server.wait(lambda: "/v1/traces" in got)


def test_beyond_the_limit_of_connections_a_request_is_refused(lines: Lines) -> None:
    with serving(lines, "--limit", "connections=10") as server:
        with ExitStack() as stack:
            for _ in range(10):
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            server.wait(lambda: server.ask("GET", "/ping")[0] == 503)
        server.wait(lambda: server.ask("GET", "/ping")[0] == 200)
