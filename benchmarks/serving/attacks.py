"""The requests of benchmarks/probes.py, each with its name and the statuses that are right.

The model has the columns text, count, ratio, yes and marks, and the parameter top_k. On one text it
fails with a message that repeats the request, on another it answers NaN: the probes check how the
server handles both.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.serving.oracle import ROW
from tests.support.serving.wide import FAILS, NAN

CANARY = "c4n4ry-7f3a"  # in no refusal
FORGED = "\x1b[31m\r\nCRITICAL forged"
HOST = b"Host: 127.0.0.1"
JSON = b"Content-Type: application/json"
CSV = b"Content-Type: text/csv"
TEXT = b"Content-Type: text/plain"
FORM = b"Content-Type: multipart/form-data"
POST = b"POST /invocations HTTP/1.1"
REFUSED = (400, 422)
UNSUPPORTED = (400, 415)
ELSEWHERE = (400, 403, 421)
FOREIGN = (400, 403, 415)
MIB = 1 << 20


@dataclass(frozen=True)
class Probe:
    """Bytes to send, and the statuses that are right."""

    fault: str
    name: str
    parts: tuple[bytes, ...]  # sent one after another until the server closes
    statuses: tuple[int, ...]
    closes: bool = False  # the connection must end with the answer

    @property
    def right(self) -> str:
        """The statuses that are right, in words."""
        return " or ".join(map(str, self.statuses)) + (", and closed" if self.closes else "")


def probes() -> Iterator[Probe]:
    """All of them."""
    yield from _bodies()
    yield from _heads()
    yield from _smuggling()


def predictions(raw: bytes) -> Any:
    """The answers in a body, or None."""
    try:
        return json.loads(raw)["predictions"]
    except (ValueError, KeyError, TypeError):
        return None


def request(
    *headers: bytes,
    body: bytes = b"",
    line: bytes = b"POST /invocations HTTP/1.1",
    length: bool = True,
) -> bytes:
    """A request of these headers and a Content-Length."""
    lines = [line, *headers, b"X-Canary: " + CANARY.encode()]
    if length:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", b""]) + body


def _json(fault: str, name: str, body: Any, *statuses: int) -> Probe:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Probe(fault, name, (request(HOST, JSON, body=raw),), statuses or REFUSED)


def _rows(**changes: Any) -> dict[str, Any]:
    return {"dataframe_records": [ROW | {"text": CANARY} | changes]}


def _literal(column: str, literal: bytes) -> bytes:
    return json.dumps(_rows(**{column: "here"})).encode().replace(b'"here"', literal)


def _bodies() -> Iterator[Probe]:
    split = {"columns": list(ROW), "data": [list(ROW.values())]}
    yield _json("", "a right request", _rows(), 200)
    yield _json("D1", "not JSON", b"{" + CANARY.encode())
    yield _json("D1", "an empty body", b"")
    yield _json("D1", "a number", b"3")
    yield _json("D1", "a list", b"[1, 2]")
    yield _json("D3", "100,000 nested lists", b"[" * 100_000 + b"]" * 100_000)
    yield _json("D4", "an integer of 5,000 digits", _literal("count", b"9" * 5000))
    yield _json("D4", "1e999", _literal("ratio", b"1e999"))
    yield _json("D5", "an object in a column of texts", _rows(text={CANARY: 1}))
    yield _json("D5", "a list in a column of texts", _rows(text=[CANARY]))
    yield _json("D6", "NaN in the request", _literal("ratio", b"NaN"))
    yield _json("D7", "the model answers NaN", _rows(text=NAN), 200, 500)
    yield _json("D8", "a duplicate key", _literal("count", b'1, "count": 2'))
    yield _json("D9", "a missing column", {"dataframe_records": [{"text": CANARY}]})
    yield _json("D9", "an unknown column", _rows(**{CANARY: 1}))
    yield _json(
        "D9",
        "a duplicate column",
        {"dataframe_split": split | {"columns": [*list(ROW)[:-1], "text"]}},
    )
    yield _json("D9", "text for a number", _rows(ratio=CANARY))
    yield _json("D9", "a number for text", _rows(text=7))
    yield _json("D9", "null for text", _rows(text=None))
    yield _json("D9", "a boolean for a number", _rows(ratio=True))
    yield _json("D9", "2**63 for a long", _rows(count=2**63))
    yield _json(
        "D9",
        "rows of unequal length",
        {"dataframe_split": split | {"data": [list(ROW.values()), [1]]}},
    )
    yield _json("D10", "no rows", {"dataframe_records": []}, 200, *REFUSED)
    yield _json("D12", "unpaired surrogate (\\ud800)", _literal("text", b'"\\ud800"'))
    yield _json("D12", "bytes that are not UTF-8", _literal("text", b'"\xff\xfe"'))
    yield _json("D12", "NUL, emoji, right-to-left", _rows(text="\x00\U0001f600\u202e"), 200)
    yield _json("D14", "a parameter of the wrong type", _rows() | {"params": {"top_k": CANARY}})
    yield _json("D14", "an unknown parameter", _rows() | {"params": {CANARY: 1}})
    yield _json("D24", "the model fails", _rows(text=FAILS + CANARY), 500)
    yield _json("E20", "the model fails with a forged line", _rows(text=FAILS + FORGED), 500)
    bodies = {
        "broken quotes": b'text,count\n"' + CANARY.encode() + b"\n",
        "uneven rows": b"text,count\na,1,2\nb\n",
    }
    for name, body in bodies.items():
        yield Probe("D13", f"CSV with {name}", (request(HOST, CSV, body=body),), REFUSED)
    parquet = request(
        HOST, b"Content-Type: application/vnd.apache.parquet", body=b"PAR1" + bytes(64) + b"PAR1"
    )
    yield Probe("D13", "a broken Parquet file", (parquet,), UNSUPPORTED)


def _heads() -> Iterator[Probe]:
    body = json.dumps(_rows()).encode()
    yield Probe("D2", "no Content-Type", (request(HOST, body=body),), (200, 415))
    yield Probe(
        "D2",
        "APPLICATION/JSON",
        (request(HOST, b"Content-Type: APPLICATION/JSON", body=body),),
        (200,),
    )
    yield Probe("D2", "multipart/form-data", (request(HOST, FORM, body=body),), (400, 415))
    packed = request(HOST, JSON, b"Content-Encoding: gzip", body=b"\x1f\x8b\x08" + bytes(99))
    yield Probe("D11", "a compressed body", (packed,), (400, 413, 415))
    sized = request(HOST, JSON, b"Content-Length: 31457280", length=False)
    yield Probe("D11", "a body of 30 MB", (sized, *[b"a" * MIB] * 30), (413,))
    chunk = b"%x\r\n%s\r\n" % (MIB, b"a" * MIB)
    chunked = request(HOST, JSON, b"Transfer-Encoding: chunked", length=False)
    yield Probe(
        "D11", "30 MB in chunks, without a length", (chunked, *[chunk] * 30, b"0\r\n\r\n"), (413,)
    )
    endless = b"GET /ping HTTP/1.1\r\n" + HOST + b"\r\nX-Long: "
    yield Probe(
        "D11", "30 MB of headers", (endless, *[b"a" * MIB] * 30, b"\r\n\r\n"), (400, 413, 431)
    )
    for line in (
        b"GET /nowhere",
        b"GET //etc/passwd",
        b"GET /%2e%2e/%2e%2e/etc/passwd",
        b"GET /../../etc/passwd",
    ):
        yield Probe(
            "D15",
            line.decode(),
            (request(HOST, line=line + b" HTTP/1.1", length=False),),
            (400, 404),
        )
    yield Probe(
        "D15", "TRACE /", (request(HOST, line=b"TRACE / HTTP/1.1", length=False),), (404, 405)
    )
    yield Probe(
        "D16", "headers that never end", (POST + b"\r\n" + HOST + b"\r\n",), (408,), closes=True
    )
    yield Probe(
        "D17", "a body that never ends", (request(HOST, JSON, body=body)[:-1],), (408,), closes=True
    )
    for host in (b"evil.example", b"10.evil.example", b"a/b?x"):
        yield Probe(
            "E17",
            f"Host: {host.decode()}",
            (request(b"Host: " + host, JSON, body=body),),
            ELSEWHERE,
        )
    yield Probe("E17", "no Host", (request(JSON, body=body),), ELSEWHERE)
    yield Probe("E17", "two Hosts", (request(HOST, HOST, JSON, body=body),), ELSEWHERE)
    evil = b"Origin: https://evil.example"
    yield Probe("E18", "cross-origin, JSON", (request(HOST, evil, JSON, body=body),), FOREIGN)
    yield Probe(
        "E18",
        "cross-origin, text/plain",
        (request(HOST, evil, b"Content-Type: text/plain", body=body),),
        (400, 403, 415),
    )
    path = b"GET /%1b[31m%0d%0aCRITICAL%20forged HTTP/1.1"
    yield Probe(
        "E20", "a path with a forged line", (request(HOST, line=path, length=False),), (400, 404)
    )


def _smuggling() -> Iterator[Probe]:
    body = json.dumps(_rows()).encode()
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    length, chunked = b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked"
    cases = {
        "chunked and a length": [length, chunked],
        "two lengths": [length, b"Content-Length: 3"],
        "a length of +9": [b"Content-Length: +9"],
        "Transfer-Encoding: xchunked": [b"Transfer-Encoding: xchunked"],
        "a folded header": [length, b"X-Fold: a\r\n b"],
        "LF in a header": [length, b"X-Bare: a\nX-B: b"],
    }
    for name, headers in cases.items():
        sent = request(HOST, JSON, *headers, length=False) + (chunk if chunked in headers else body)
        yield Probe("E19", name, (sent,), (400,), closes=True)
    wrong = request(HOST, JSON, chunked, length=False) + b"zz\r\n" + body
    yield Probe("E19", "a chunk of size zz", (wrong,), (400,), closes=True)
    unix = request(HOST, JSON, body=body).replace(b"\r\n", b"\n")
    yield Probe("E19", "LF alone ends the lines", (unix,), (400,), closes=True)
