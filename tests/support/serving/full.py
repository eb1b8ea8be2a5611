"""A server whose queue is full for as long as a test wants, and requests in bytes to it."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.support.serving.lines import MOODY, Lines, Server, serving
from tests.support.serving.moody import GO_FILE, WAITS, WAITS_FILE
from tests.support.serving.wire import Got, parse

TOKEN = "a-token-of-this-test"  # noqa: S105
BODY = b'{"inputs": [1.0]}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
POST = b"POST /invocations HTTP/1.1\r\n"
HOST = b"Host: 127.0.0.1\r\n"
ALLOWED = b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
JSON = b"Content-Type: application/json\r\n"
WHOLE = POST + HOST + ALLOWED + JSON + LENGTH + b"\r\n" + BODY
PING = b"GET /ping HTTP/1.1\r\n" + HOST + b"\r\n"
READ_TIMEOUT_S = 3


@contextmanager
def full(lines: Lines, *options: str, **environment: str) -> Iterator[tuple[Server, Path]]:
    """A server whose model waits for the file that is yielded, and whose queue of one is full."""
    waits, go = lines.folder / WAITS_FILE, lines.folder / GO_FILE
    waits.unlink(missing_ok=True)
    go.unlink(missing_ok=True)
    token = lines.folder / "token"
    token.write_text(TOKEN)
    values = {"queue_rows": 1, "deadline_s": 900, "predict_timeout_s": 900}
    values["read_timeout_s"] = READ_TIMEOUT_S
    limits = ["--token-file", str(token)]
    for name, value in values.items():
        limits += ["--limit", f"{name}={value}"]
    uri = f"models:/line/{MOODY}"
    with (
        serving(lines, *limits, *options, uri=uri, **environment) as server,
        ThreadPoolExecutor(3) as pool,
    ):
        try:
            running = pool.submit(predict, server, WAITS)
            server.wait(waits.exists)
            asked = [pool.submit(predict, server, 1.0) for _ in range(2)]
            server.wait(lambda: any(one.done() for one in asked))  # it was refused
            yield server, go
        finally:
            go.touch()
        check_answered(running, *asked)
    waits.unlink()
    go.unlink()


def predict(server: Server, x: float) -> int:
    body = json.dumps({"inputs": [x]}).encode()
    head = POST + HOST + ALLOWED + JSON + b"Content-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", server.port), timeout=900) as connection:
        connection.sendall(head + body)
        return receive(connection, 1)[0].status


def check_answered(*asked: "Future[int]") -> None:
    """One was refused; the others wait no more."""
    statuses = sorted(one.result() for one in asked)
    assert statuses == [200, 200, 429]


def receive(connection: socket.socket, num_answers: int) -> list[Got]:
    received = b""
    while len(parse(received)[0]) < num_answers and (part := connection.recv(1 << 20)):
        received += part
    answers, rest = parse(received)
    assert rest == b""
    return answers


def send(server: Server, raw: bytes, num_answers: int = 1) -> list[Got]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=900) as connection:
        connection.sendall(raw)
        return receive(connection, num_answers)
