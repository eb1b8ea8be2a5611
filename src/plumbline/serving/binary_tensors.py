"""Binary tensor data of the Open Inference Protocol: values that follow the JSON of a request.

https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md
"""

import struct
from typing import Any

from plumbline.serving.errors import BadRequestError
from plumbline.serving.strict_json import parse_json

HEADER = "inference-header-content-length"  # how many bytes of the body are JSON
MAX_DIGITS = 18  # of that; Python refuses to read thousands of digits
CODES = {  # of struct
    "BOOL": "?", "FP16": "e", "FP32": "f", "FP64": "d", "INT8": "b", "INT16": "h", "INT32": "i",
    "INT64": "q", "UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q",
}  # fmt: skip


def parse_body(raw: bytes, head_length: str) -> Any:
    """Parse a body of JSON and binary data into the body that has the data as JSON."""
    is_number = head_length.isdecimal() and len(head_length) <= MAX_DIGITS
    if not is_number or int(head_length) > len(raw):
        raise BadRequestError("Inference-Header-Content-Length: expected the length of the JSON")
    start = int(head_length)
    body = parse_json(raw[:start])
    for tensor in _list_tensors(body):
        size = tensor.get("parameters", {}).get("binary_data_size")
        if size is None:
            continue
        if type(size) is not int or not 0 <= size <= len(raw) - start or "data" in tensor:
            raise BadRequestError("binary_data_size: expected the number of bytes after the JSON")
        tensor["data"] = _read_values(raw[start : start + size], tensor.get("datatype"))
        start += size
    if start != len(raw):
        raise BadRequestError("the body is longer than its JSON and binary data")
    return body


def _list_tensors(body: Any) -> list[dict[str, Any]]:
    """Return the inputs that may have binary data; what is malformed is refused later."""
    inputs = body.get("inputs") if isinstance(body, dict) else None
    if not isinstance(inputs, list):
        return []
    tensors = [tensor for tensor in inputs if isinstance(tensor, dict)]
    return [tensor for tensor in tensors if isinstance(tensor.get("parameters"), dict)]


def _read_values(raw: bytes, datatype: Any) -> list[Any]:
    """Return the values: numbers are little-endian, each text follows the 4 bytes of its length."""
    if datatype == "BYTES":
        return _read_texts(raw)
    code = CODES.get(str(datatype))
    size = struct.calcsize(f"<{code}") if code else 1
    if code is None or len(raw) % size:
        raise BadRequestError("binary data: the size does not match the datatype")
    return list(struct.unpack(f"<{len(raw) // size}{code}", raw))


def _read_texts(raw: bytes) -> list[str]:
    texts = []
    start = 0
    while start < len(raw):
        end = start + 4 + int.from_bytes(raw[start : start + 4], "little")
        if end > len(raw) or start + 4 > len(raw):
            raise BadRequestError("binary data: a text is longer than the data")
        try:
            texts.append(raw[start + 4 : end].decode("utf-8"))
        except UnicodeDecodeError:
            raise BadRequestError("binary data: a text is not UTF-8") from None
        start = end
    return texts
