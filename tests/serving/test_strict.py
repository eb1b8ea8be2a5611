"""Request bodies are parsed strictly, binary tensors too, in time that grows with their length."""

import json
import struct
import time
from types import SimpleNamespace
from typing import Any

import pytest

from plumbline.contract.task import Field, Signature
from plumbline.serving.binary_tensors import parse_body as parse_tensors
from plumbline.serving.errors import RequestError
from plumbline.serving.open_inference import encode_infer_response, parse_infer_body
from plumbline.serving.request_body import parse_body
from plumbline.serving.strict_json import parse_json

MIB = 1 << 20
LINE = Signature(inputs=(Field("x", "double"),), outputs=(Field("y", "double"),))
MARKS = {"type": "array", "items": {"type": "double"}}
TENSOR = b'{"inputs": [{"name": "x", "datatype": %s, "shape": %s, "data": [1]}]}'


@pytest.mark.parametrize(
    "raw",
    [
        # a text that never ends, with an escaped quote at every second position
        b"[]" * 40 + b'"' + b'\\"' * MIB,
        b"[" + b"[]," * MIB,
        b"[" * MIB,
    ],
)
def test_no_body_takes_long_to_refuse(raw: bytes) -> None:
    start = time.process_time()
    with pytest.raises(RequestError):
        parse_json(raw)
    assert time.process_time() - start < 10


def test_rows_of_no_values_are_counted_before_they_are_made() -> None:
    start = time.process_time()
    with pytest.raises(RequestError) as refused:
        parse_marks([2**31 - 1, 0], [])
    assert refused.value.status == 413
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    ("shape", "data"),
    [
        ([2, 2], [[1.0, 2.0, 3.0], [4.0]]),
        ([2, 2], [[1.0, 2.0], 3.0, 4.0]),
        ([2, 2], [[1.0, 2.0, 3.0, 4.0]]),
        ([2, 0], [[]]),
        ([1, 2, 2], [[[1.0, 2.0, 3.0], [4.0]]]),
        ([2, 2], [1.0, 2.0, 3.0]),
    ],
)
def test_nested_data_have_the_shape_that_is_named(shape: list[int], data: list) -> None:
    with pytest.raises(RequestError, match="data"):
        parse_marks(shape, data)


@pytest.mark.parametrize(
    ("shape", "data", "rows"),
    [
        ([2, 2], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]),
        ([2, 2], [1.0, 2.0, 3.0, 4.0], [[1.0, 2.0], [3.0, 4.0]]),
        ([2, 0], [[], []], [[], []]),
        ([2, 0], [], [[], []]),
    ],
)
def test_data_are_flat_or_nested(shape: list[int], data: list, rows: list) -> None:
    assert parse_marks(shape, data) == rows


@pytest.mark.parametrize(
    ("values", "shape", "data"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], [2, 2], [1.0, 2.0, 3.0, 4.0]),
        ([[1.0], [2.0, 3.0]], [2], ["[1.0]", "[2.0, 3.0]"]),
        ([[1.0], None], [2], ["[1.0]", "null"]),
    ],
)
def test_arrays_of_other_lengths_are_answered_as_text(
    values: list, shape: list[int], data: list
) -> None:
    version = SimpleNamespace(name="line", version="1")
    signature = Signature(inputs=LINE.inputs, outputs=(Field("marks", MARKS),))
    asked = parse_infer_body(TENSOR % (b'"FP64"', b"[1]"), {}, "line", LINE, 1024)
    answer = encode_infer_response({"marks": values}, version, signature, asked)
    (tensor,) = answer["outputs"]
    assert (tensor["shape"], tensor["data"]) == (shape, data)


def parse_marks(shape: list[int], data: list) -> list:
    """Return the rows of a tensor of arrays."""
    signature = Signature(inputs=(Field("marks", MARKS),), outputs=LINE.outputs)
    tensor = {"name": "marks", "datatype": "FP64", "shape": shape, "data": data}
    raw = json.dumps({"inputs": [tensor]}).encode()
    return parse_infer_body(raw, {}, "line", signature, 1024).request.columns["marks"]


@pytest.mark.parametrize("datatype", [b"[]", b"{}", b"null", b'"FP65"', b"1"])
def test_a_datatype_is_one_of_a_few_words(datatype: bytes) -> None:
    with pytest.raises(RequestError, match="datatype"):
        parse_infer_body(TENSOR % (datatype, b"[1]"), {}, "line", LINE, 1024)


def test_csv_is_read_only_up_to_the_row_limit() -> None:
    start = time.process_time()
    with pytest.raises(RequestError) as refused:
        parse_body(b"x\n" + b"1\n" * 1_990_000, "text/csv", LINE, 1024)
    assert refused.value.status == 413
    assert time.process_time() - start < 0.5


def test_an_empty_cell_in_csv_is_none_where_its_column_is_optional() -> None:
    inputs = (Field("x", "double"), Field("order", "double", False), Field("kind", "string", False))
    signature = Signature(inputs=inputs, outputs=())
    request = parse_body(b"x,order,kind\n1,,\n2,5,a\n", "text/csv", signature, 1024)
    assert request.columns == {"x": [1.0, 2.0], "order": [None, 5.0], "kind": [None, "a"]}
    with pytest.raises(RequestError, match=r"^row 1: x: expected double$"):
        parse_body(b"x,order,kind\n1,,\n,5,a\n", "text/csv", signature, 1024)


@pytest.mark.parametrize("name", ["Body", "text"])
@pytest.mark.parametrize(
    "layout", ['{{"inputs": {{"{}": ["a"]}}}}', '{{"instances": [{{"{}": "a"}}]}}']
)
def test_json_may_call_a_column_as_the_user_s_file_does(layout: str, name: str) -> None:
    signature = Signature((Field("text", "string"),), (Field("label", "string"),))
    body = layout.format(name).encode()
    request = parse_body(body, "application/json", signature, 4, {"text": "Body"})
    assert request.columns == {"text": ["a"]}


@pytest.mark.parametrize(
    "text", [b'"\\ud800"', b'"\\udc00\\ud800"', b'{"\\udfff": 1}', b'"\\uD83D \\uDE00"']
)
def test_an_unpaired_surrogate_is_refused(text: bytes) -> None:
    with pytest.raises(RequestError, match="unpaired surrogate"):
        parse_json(text)


def test_paired_surrogates_and_escaped_backslashes_are_read() -> None:
    assert parse_json(b'["\\ud83d\\ude00", "\\\\ud800", "\\u0000"]') == [
        "\U0001f600",
        "\\ud800",
        "\0",
    ]


def test_a_long_field_in_csv_is_accepted() -> None:
    text = Signature(inputs=(Field("text", "string"),), outputs=())
    request = parse_body(b"text\n" + b"a" * 1_000_000 + b"\n", "text/csv", text, 1024)
    assert len(request.columns["text"][0]) == 1_000_000


BYTES = "BYTES"


def pack_texts(*texts: str) -> bytes:
    encoded = [text.encode() for text in texts]
    return b"".join(struct.pack("<I", len(text)) + text for text in encoded)


def parse(datatype: str, data: bytes, size: int | None = None) -> Any:
    parameters = {"binary_data_size": len(data) if size is None else size}
    head = json.dumps({"inputs": [{"datatype": datatype, "parameters": parameters}]}).encode()
    return parse_tensors(head + data, str(len(head)))["inputs"][0]["data"]


@pytest.mark.parametrize(
    ("datatype", "data", "values"),
    [
        (BYTES, pack_texts("stop", "", "\u00e9"), ["stop", "", "\u00e9"]),
        (BYTES, b"", []),
        ("BOOL", b"\x00\x01", [False, True]),
        ("FP16", struct.pack("<2e", 0.5, -2.0), [0.5, -2.0]),
        ("INT64", struct.pack("<q", -(2**63)), [-(2**63)]),
        ("UINT8", b"\xff", [255]),
    ],
)
def test_values_are_read(datatype: str, data: bytes, values: list[Any]) -> None:
    assert parse(datatype, data) == values


@pytest.mark.parametrize(
    ("datatype", "data", "size"),
    [
        (BYTES, pack_texts("stop")[:-1], None),
        (BYTES, b"\x01\x00", None),
        (BYTES, b"\x01\x00\x00\x00\xff", None),
        ("FP64", bytes(7), None),
        ("FP65", bytes(8), None),
        ("FP64", bytes(8), 9),
        ("FP64", bytes(9), 8),
        ("FP64", bytes(8), -1),
    ],
)
def test_other_bytes_are_refused(datatype: str, data: bytes, size: int | None) -> None:
    with pytest.raises(RequestError):
        parse(datatype, data, size)


@pytest.mark.parametrize("length", ["", "-1", "x", "999", "9" * 5000])
def test_a_length_that_is_wrong_is_refused(length: str) -> None:
    with pytest.raises(RequestError, match="Inference-Header-Content-Length"):
        parse_tensors(b"{}", length)
