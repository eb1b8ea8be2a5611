"""Requests to the model `wide`: valid ones, and valid ones with random changes."""

import json
from typing import Any

from hypothesis import strategies as st
from tests.support.serving.oracle import DATATYPES
from tests.support.serving.wire import CANARY

DEEP = 100
# Bytes in place of a JSON value; half of them are not JSON.
ODD = [
    *b"null true false [] {} 0 -0 -0.0 1e5 1E-400 5e-324 1e999 -1e999".split(),
    *b"NaN Infinity -Infinity 01 +1 .5 1. 0x10 1_0".split(),
    *(
        str(value).encode()
        for value in (2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 1.7976931348623157e308)
    ),
    b"9" * 5000,
    b"0." + b"3" * 5000,
    b'"' + b"a" * 5000 + b'"',
    *(
        f'"{text}"'.encode()
        for text in ("", CANARY, "\u202eabc", "\ufeff", "\U0001f600", "é", "é", "\x7f")
    ),
    *(b'"\\u0000" "\\ud83d\\ude00" "\\ud800" "\\udc00\\ud800" "\\x" "\\u12" "\\ "'.split(b" ")),
    *(
        b'"' + raw + b'"'
        for raw in (b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\x00", b"\n", b"\xf4\x90\x80\x80")
    ),
    *(b'{"a":1,"a":2} {"a":{"b":[]}} [[1]] [1,] {"a"} "open \'a\' // /**/'.split(b" ")),
    *(b"[" * depth + b"]" * depth for depth in (20, 40, 10_000)),
    b'{"a":' * DEEP + b"1" + b"}" * DEEP,
]
KEYS = [
    b'"text"',
    b'"count"',
    b'"params"',
    b'"inputs"',
    b'"top_k"',
    b'"__proto__"',
    b'"%s"' % CANARY.encode(),
    b'""',
]
JUNK = [
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b" ",
    b"\r\n",
    b",",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b"\\",
    b"1",
    CANARY.encode(),
]
CELLS = [
    " 5",
    "+5",
    "1_0",
    "٣",
    "nan",
    "inf",
    "1e999",
    "0x10",
    "5.",
    "-0",
    "9" * 5000,
    "TRUE",
    "yes",
]
CELLS += [
    "[1]",
    "[NaN]",
    "[[1]]",
    "",
    "=cmd()",
    "\u202e",
    "a\x00b",
    "a\r\nb",
    'a"b',
    CANARY,
    "a" * 200_000,
]

texts = st.text(max_size=12) | st.sampled_from(
    ["", "\x00", "\u202eabc", "\U0001f600" * 3, "a\u0301", CANARY, "b" * 3000]
)
doubles = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**300), 10**300)
counts = st.integers(-(2**63), 2**63 - 1)


class Pairs(list):  # type: ignore[type-arg]
    """The members of a JSON object, in order, and twice if need be."""


def tree(value: Any) -> Any:
    """A value as lists, Pairs and, at the leaves, bytes."""
    if isinstance(value, dict):
        return Pairs((json.dumps(key).encode(), tree(item)) for key, item in value.items())
    if isinstance(value, list):
        return [tree(item) for item in value]
    return json.dumps(
        value, ensure_ascii=not isinstance(value, str) or len(value) % 2 == 0
    ).encode()


def written(node: Any) -> bytes:
    """The bytes of a tree."""
    if isinstance(node, bytes):
        return node
    if isinstance(node, Pairs):
        return b"{" + b",".join(key + b":" + written(item) for key, item in node) + b"}"
    return b"[" + b",".join(map(written, node)) + b"]"


@st.composite
def tables(draw: st.DrawFn, width: int | None = None) -> list[dict[str, Any]]:
    """One to four right rows; `width` values in each list of marks, or any number."""
    marks = st.lists(doubles, min_size=width or 0, max_size=3 if width is None else width)
    row = st.fixed_dictionaries(
        {"text": texts, "count": counts, "ratio": doubles, "yes": st.booleans(), "marks": marks}
    )
    return draw(st.lists(row, min_size=1, max_size=4))


@st.composite
def invocations(draw: st.DrawFn) -> bytes:
    """A body for /invocations."""
    rows = draw(tables())
    names = draw(st.permutations(list(rows[0])))
    forms = {
        "inputs": {name: [row[name] for row in rows] for name in names},
        "instances": rows,
        "dataframe_records": rows,
        "dataframe_split": {
            "columns": names,
            "data": [[row[name] for name in names] for row in rows],
        },
    }
    form = draw(st.sampled_from(list(forms)))
    body = {form: forms[form]} | draw(
        st.sampled_from([{}, {}, {"params": {"top_k": 2}}, {"params": {}}])
    )
    return draw(changed(tree(body)))


@st.composite
def infer(draw: st.DrawFn) -> bytes:
    """A body for /v2/models/wide/infer."""
    width = draw(st.integers(0, 3))
    rows = draw(tables(width))
    tensors = []
    for name in draw(st.permutations(list(rows[0]))):
        data = [row[name] for row in rows]
        if name == "marks" and draw(st.booleans()):
            data = [value for inner in data for value in inner]
        shape = (
            [len(rows), width] if name == "marks" else [len(rows)] + [1] * draw(st.integers(0, 2))
        )
        datatype = draw(st.sampled_from(sorted(DATATYPES[name])))
        tensors.append({"name": name, "shape": shape, "datatype": datatype, "data": data})
    more = [
        {},
        {"id": "7"},
        {"parameters": {"top_k": 9}},
        {"outputs": [{"name": "text"}], "id": CANARY},
    ]
    return draw(changed(tree({"inputs": tensors} | draw(st.sampled_from(more)))))


@st.composite
def changed(draw: st.DrawFn, root: Any) -> bytes:
    """The bytes of a tree after none to three changes to it, and perhaps one to its bytes."""
    root = [root]
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 1, 2, 3]))):
        if places := list(_places(root)):
            _change(draw, *places[draw(st.integers(0, len(places) - 1))])
    raw = b",".join(map(written, root))
    if draw(st.integers(0, 7)) == 7:
        at = draw(st.integers(0, len(raw)))
        raw = (
            raw[:at]
            + draw(st.sampled_from(JUNK) | st.binary(max_size=3))
            + raw[at + draw(st.integers(0, 3)) :]
        )
    return raw[: draw(st.integers(0, len(raw)))] if draw(st.integers(0, 31)) == 31 else raw


def _change(draw: st.DrawFn, holder: Any, place: int) -> None:
    in_object = isinstance(holder, Pairs)
    key, value = holder[place] if in_object else (b"", holder[place])
    match draw(st.sampled_from(["odd", "odd", "drop", "double", "wrap", "key", "move"])):
        case "odd":
            value = draw(st.sampled_from(ODD))
        case "drop":
            del holder[place]
            return
        case "double":
            holder.insert(place, holder[place])
            return
        case "wrap":
            value = [value] if draw(st.booleans()) else Pairs([(b'"data"', value)])
        case "key":
            key = draw(st.sampled_from(KEYS))
        case "move":
            holder.insert(draw(st.integers(0, len(holder) - 1)), holder.pop(place))
            return
    holder[place] = (key, value) if in_object else value


def _places(node: Any) -> Any:
    for place, item in enumerate(node):
        yield node, place
        inner = item[1] if isinstance(node, Pairs) else item
        if not isinstance(inner, bytes):
            yield from _places(inner)


@st.composite
def csv(draw: st.DrawFn) -> tuple[bytes, list[dict[str, str]] | None]:
    """A CSV body, and its cells; None in their place where the bytes were changed afterwards."""
    rows = [{name: _spelt(name, value) for name, value in row.items()} for row in draw(tables())]
    if draw(st.booleans()):
        draw(st.sampled_from(rows))[draw(st.sampled_from(list(rows[0])))] = draw(
            st.sampled_from(CELLS)
        )
    names = draw(st.permutations(list(rows[0])))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    quoted = draw(st.booleans())
    lines = [
        ",".join(names),
        *(",".join(_quoted(row[name], quoted) for name in names) for row in rows),
    ]
    raw = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + (end.join(lines) + end).encode()
    if draw(st.integers(0, 2)):
        return raw, rows
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(raw)))
        raw = (
            raw[:at]
            + draw(st.sampled_from(JUNK) | st.binary(max_size=3))
            + raw[at + draw(st.integers(0, 3)) :]
        )
    return raw, None


def _spelt(name: str, value: Any) -> str:
    return value if name == "text" else json.dumps(value)


def _quoted(text: str, always: bool) -> str:
    return '"' + text.replace('"', '""') + '"' if always or set(text) & set(',"\r\n') else text


BODY = b'{"instances": [{"text": "a", "count": 1, "ratio": 0.5, "yes": true, "marks": []}]}'
METHODS = (
    [b"POST"] * 6
    + [b"GET"] * 4
    + [b"PUT", b"OPTIONS", b"TRACE", b"CONNECT", b"PRI", b"get", b"G\x00T", b"A" * 99]
)
PATHS = [b"/invocations"] * 5 + [
    *b"/ping /ping/ // //ping /%2e%2e/%2e%2e/etc/passwd /../../etc/passwd /%00 /%ff /%zz".split(),
    *b"/%0d%0aX:1 * ping /openapi.json /metrics /v2/models/wide /v2/models/wide/infer".split(),
    *b"/v2/models/%2e%2e/infer /v2/models/a%2fb".split(),
    *(
        b"/version http://evil.example/ping /v2/models/wide/versions/"
        + b"9" * 5000
        + b" /docs /"
        + b"a" * 70_000
    ).split(),
    b"/ping#a",
    b"/\xff",
    b"/ a",
    b"",
]
VERSIONS = [b"HTTP/1.1"] * 12 + [
    b"HTTP/1.0",
    b"HTTP/2.0",
    b"HTTP/9.9",
    b"http/1.1",
    b"HTTP/1.1 x",
    b"",
]
LENGTH = b"Content-Length: %d" % len(BODY)
HEADERS = [
    b"Content-Length: 3",
    b"Content-Length: 9999",
    b"Content-Length: -1",
    b"Content-Length: +9",
    b"Content-Length: 0x9",
    b"Content-Length: 9, 9",
    b"Content-Length: " + b"9" * 30,
    b"content-LENGTH: 0",
    b"Content-Length : 9",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: \x0bchunked",
    b"Host: evil.example",
    b"Host: 127.0.0.1@evil.example",
    b"Host:",
    b"Content-Type: text/plain",
    b"Content-Type: text/csv",
    b"Content-Type: application/json; charset=utf-16",
    b"Content-Type: multipart/form-data; boundary=a",
    b"Content-Type: \xff\xfe",
    b"Content-Encoding: gzip",
    b"Connection: close",
    b"Connection: Upgrade\r\nUpgrade: h2c",
    b"Connection: Upgrade\r\nUpgrade: websocket",
    b"Expect: 100-continue",
    b"Origin: https://evil.example",
    b"Authorization: Bearer " + b"a" * 5000,
    b"X-Fold: a\r\n b",
    b"X-Bare: a\nX-B: b",
    b"X-Bare: a\rX-B: b",
    b"X-Nul: a\x00",
    b"X-Red: \x1b[31m",
    b"X-Long: " + b"a" * 100_000,
    b": a",
    b"no colon",
    b"",
    *(b"X-%d: a" % number for number in range(3)),
]
CHUNKED = [
    b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
    b"%x;a=b\r\n%s\r\n0\r\nContent-Type: text/csv\r\n\r\n" % (len(BODY), BODY),
    b"%x\n%s\n0\n\n" % (len(BODY), BODY),
    b"zz\r\n" + BODY,
    b"-1\r\n" + BODY,
    b"f" * 17 + b"\r\n" + BODY,
    b"1\r\n{\r\n",
]
OTHER = [
    b"GET /\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    b"\r\n" * 9,
]


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """One request with something wrong in its head, perhaps."""
    line = [
        draw(st.sampled_from(METHODS)),
        draw(st.sampled_from(PATHS)),
        draw(st.sampled_from(VERSIONS)),
    ]
    if draw(st.booleans()):
        line[1] += b"?a=" + CANARY.encode()
    headers = [
        b"Host: 127.0.0.1",
        b"Content-Type: application/json",
        b"X-Canary: " + CANARY.encode(),
        LENGTH,
    ]
    body = BODY
    if draw(st.integers(0, 3)) == 3:
        headers[3], body = b"Transfer-Encoding: chunked", draw(st.sampled_from(CHUNKED))
    for header in draw(st.lists(st.sampled_from(HEADERS), max_size=2)):
        headers.insert(draw(st.integers(0, len(headers))), header)
    if draw(st.integers(0, 7)) == 7:
        del headers[draw(st.integers(0, len(headers) - 1))]
    end = draw(st.sampled_from([b"\r\n"] * 10 + [b"\n", b"\r"]))
    return end.join([b" ".join(line), *headers, b"", b""]) + body


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Bytes for one connection: requests one after another, truncated, or not a request at all."""
    match draw(st.integers(0, 15)):
        case 0:
            return draw(st.binary(max_size=60))
        case 1:
            return draw(st.sampled_from(OTHER))
        case 2 | 3 | 4:
            return b"".join(draw(st.lists(requests(), min_size=2, max_size=3)))
        case 5:
            raw = draw(requests())
            return raw[: draw(st.integers(0, len(raw)))]
        case _:
            return draw(requests())
