"""Hostile clients: endless bodies, clients that leave, forged log lines."""

import json
import socket
from collections.abc import Iterator

import pytest
from tests.support.serving.lines import PATIENCE_S, Lines, Server, serving
from tests.support.serving.load import Watch
from tests.support.serving.models import ROW
from tests.support.serving.wide import FAILS

MIB = 1 << 20
HEAD = b"POST /invocations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
GET = b"GET /ping HTTP/1.1\r\n"


@pytest.fixture(scope="module")
def server(wide: Lines) -> Iterator[Server]:
    """Serve the model `wide`."""
    with serving(wide, uri="models:/wide@champion") as found:
        yield found


def test_a_body_of_30_mb_is_refused_before_it_is_received(server: Server) -> None:
    watch = Watch(server)
    part = b"%x\r\n%s\r\n" % (MIB, b"a" * MIB)
    for start, sent in (
        (HEAD + b"Content-Length: 32000000\r\n\r\n", b"a" * MIB),
        (HEAD + CHUNKED + b"\r\n", part),
    ):
        for _ in range(4):
            with socket.create_connection(
                ("127.0.0.1", server.port), timeout=PATIENCE_S
            ) as connection:
                connection.sendall(start)
                for _ in range(6):
                    connection.sendall(sent)
                assert connection.recv(100).startswith(b"HTTP/1.1 413")
                for _ in range(24):  # it may go on sending; the bytes are dropped
                    connection.sendall(sent)
    watch.check(mib=24)


def test_no_client_can_forge_a_log_line(server: Server) -> None:
    forged = "\x1b[31m\r\nCRITICAL forged\x00\x9b\x7f\u2028"
    escaped = "%1b[31m%0d%0aCRITICAL%20forged"
    body = json.dumps({"instances": [ROW | {"text": FAILS + forged}]})
    assert server.ask("POST", "/invocations", body, content_type="application/json")[0] == 500
    column = json.dumps({"instances": [{forged: 1}]})
    assert (
        server.ask("POST", f"/invocations?{escaped}", column, content_type="application/json")[0]
        == 400
    )
    for path in (f"/{escaped}", f"/v2/models/{escaped}", f"/v2/models/wide/versions/{escaped}"):
        assert server.ask("GET", path, x_name=escaped, authorization=escaped)[0] == 404
    malformed = (b"\x1b[31mCRITICAL forged\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n")
    for raw in (GET + b"Host: \x1b[31m\r\n\r\n", *malformed):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(raw)
            connection.recv(MIB)
    lines = server.log.read_bytes().splitlines()[1:]  # the first one greets
    assert b"UnicodeDecodeError" not in server.log.read_bytes()
    assert any("CRITICAL forged" in json.loads(line).get("traceback", "") for line in lines)
    for line in lines:
        json.loads(line)
        assert all(0x20 <= byte < 0x7F for byte in line), line
