"""Binary tensor data: texts and numbers as the standard client packs them."""

import json
import struct
from typing import Any

import pytest

from plumbline.serving.binary_tensors import parse_body
from plumbline.serving.errors import RequestError

BYTES = "BYTES"


def pack_texts(*texts: str) -> bytes:
    encoded = [text.encode() for text in texts]
    return b"".join(struct.pack("<I", len(text)) + text for text in encoded)


def parse(datatype: str, data: bytes, size: int | None = None) -> Any:
    parameters = {"binary_data_size": len(data) if size is None else size}
    head = json.dumps({"inputs": [{"datatype": datatype, "parameters": parameters}]}).encode()
    return parse_body(head + data, str(len(head)))["inputs"][0]["data"]


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
        parse_body(b"{}", length)
