"""A server whose queue is full refuses what asks the model, and answers everything else."""

import socket
from collections.abc import Callable, Iterator

import pytest
from tests.support.serving.full import ALLOWED, HOST, PING, POST, WHOLE, full, receive, send
from tests.support.serving.lines import Lines, Server

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def server(registered: Lines) -> Iterator[Server]:
    with full(registered) as (found, _):
        yield found


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        (HOST, b"Host: evil.example\r\n", 421),
        (ALLOWED, b"", 401),
        (ALLOWED, ALLOWED.replace(b"Bearer", b"Basic"), 401),
        (ALLOWED, ALLOWED + b"Origin: https://evil.example\r\n", 403),
        (ALLOWED, ALLOWED + b"Content-Encoding: gzip\r\n", 415),
        (ALLOWED, ALLOWED + b"Origin: http://127.0.0.1\r\n", 429),
        (b"/invocations", b"/nowhere", 429),
        (ALLOWED, ALLOWED + b"Expect: 100-continue\r\n", 429),
    ],
)
def test_a_full_queue_hides_no_other_error(
    server: Server, old: bytes, new: bytes, status: int
) -> None:
    assert WHOLE.count(old) == 1
    (got,) = send(server, WHOLE.replace(old, new))
    assert got.status == status
    assert (got.headers.get("retry-after") == "1") == (status == 429)
    got.check()


def test_requests_in_one_read_are_answered_in_their_order(server: Server) -> None:
    wrong = WHOLE.replace(ALLOWED, b"")
    raw = WHOLE + PING + WHOLE + wrong + WHOLE + WHOLE + PING
    statuses = [got.status for got in send(server, raw, 7)]
    assert statuses == [429, 200, 429, 401, 429, 429, 200]


def as_length(body: bytes) -> tuple[bytes, bytes]:
    return b"Content-Length: %d\r\n\r\n" % len(body), body


def as_chunks(body: bytes) -> tuple[bytes, bytes]:
    chunk = b"%x\r\n%s\r\n" % (len(body), body)
    return b"Transfer-Encoding: chunked\r\n\r\n", chunk + b"0\r\n\r\n"


@pytest.mark.parametrize("form", [as_length, as_chunks])
def test_the_rest_of_a_refused_body_is_dropped(
    server: Server, form: Callable[[bytes], tuple[bytes, bytes]]
) -> None:
    """A body that looks like requests is not read as requests."""
    end, body = form(PING * 20_000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=6000) as connection:
        connection.sendall(POST + HOST + ALLOWED + end)
        assert [got.status for got in receive(connection, 1)] == [429]
        for start in range(0, len(body), 70_000):
            connection.sendall(body[start : start + 70_000])
        connection.sendall(PING)
        assert [got.status for got in receive(connection, 1)] == [200]
