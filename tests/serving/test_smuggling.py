"""No body passes for a request: what a proxy sends for one client is never answered to another."""

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.serving import grammar
from tests.support.serving.lines import Lines, Server, serving

pytestmark = pytest.mark.filterwarnings("ignore")
TOKEN = "abcdefghijklmnop1234"  # noqa: S105 (of the server of these tests)
HOST = b"Host: 127.0.0.1\r\n"
POST = b"POST /invocations HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
ALIVE = b"GET /v2/health/live HTTP/1.1\r\n" + HOST + b"\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"


@pytest.fixture(scope="module")
def server(wide: Lines, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    token = Path(tmp_path_factory.mktemp("token") / "token")
    token.write_text(TOKEN)
    options = ("--token-file", str(token))
    with serving(wide, *options, uri="models:/wide@champion") as found:
        yield found


def exchange(server: Server, *pieces: bytes) -> bytes:
    """Send pieces one after another; return all that comes until nothing does for a while."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.settimeout(2)
        received = b""
        for piece in pieces:
            try:
                client.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                break
            time.sleep(0.1)
        try:
            while data := client.recv(65_536):
                received += data
        except (TimeoutError, ConnectionResetError):
            pass
        return received


def list_statuses(received: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1.1 (\d{3}) ", received)]


def pad(request: bytes) -> bytes:
    """Return a body that, if each Upgrade in it were renamed, would end where `request` begins."""
    request = request if len(request) % 2 == 0 else request.replace(b"Host:", b"Host: ")
    return b"\r\nupgrade:" * (len(request) // 2) + request


def test_the_body_of_a_request_that_was_refused_is_never_another_request(server: Server) -> None:
    body = pad(ALIVE)
    head = POST + b"Content-Length: %d\r\n\r\n" % len(body)
    assert list_statuses(exchange(server, head, body)) == [401]
    # Behind it the connection goes on with the next request, whoever sends it.
    assert list_statuses(exchange(server, head, body + ALIVE)) == [401, 200]


def test_a_large_body_is_not_changed_while_it_arrives(server: Server) -> None:
    body = pad(ALIVE).rjust(600_000, b" ")
    head = POST + b"Content-Length: %d\r\n\r\n" % len(body)
    assert list_statuses(exchange(server, head + body)) == [401]


@pytest.mark.parametrize(
    "pieces",
    [
        (POST + b"Connection: Upgrade\r\nUpgra", b"de: h2c\r\nContent-Length: %d\r\n\r\n"),
        (POST + UPGRADE + b"Content-Length: %d\r\n\r\n",),
        (b"\r\n\r\n" + POST + UPGRADE + b"Content-Length: %d\r\n\r\n",),
    ],
    ids=["split", "whole", "after empty lines"],
)
def test_a_body_after_the_header_upgrade_is_no_request(
    server: Server, pieces: tuple[bytes, ...]
) -> None:
    *before, last = pieces
    received = exchange(server, *before, last % len(ALIVE), ALIVE, ALIVE)
    assert list_statuses(received) in ([401, 200], [400])  # the second has lost the connection


def test_an_upgrade_at_the_start_of_a_request_is_ignored(server: Server) -> None:
    authorized = b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
    body = grammar.BODY
    head = POST + authorized + UPGRADE + b"Content-Length: %d\r\n\r\n" % len(body)
    received = exchange(server, head, body, ALIVE)
    assert list_statuses(received)[-1] == 200
    assert len(list_statuses(received)) == 2
