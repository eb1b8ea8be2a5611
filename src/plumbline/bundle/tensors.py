"""Check the header of a safetensors file before the file is read: it says where each tensor is."""

import os
from io import BufferedReader
from math import prod
from typing import Any

from plumbline.bundle import strict

MAX_HEADER = 32 << 20  # bytes
MAX_RANK = 16
BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2,
    "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8,
}  # fmt: skip


def check_tensors(file: BufferedReader) -> None:
    """Raise ValueError if the header of an open file is wrong, or it holds more than tensors."""
    length = os.fstat(file.fileno()).st_size
    size = int.from_bytes(os.pread(file.fileno(), 8, 0), "little")
    if length < 8 or not 2 <= size <= min(MAX_HEADER, length - 8):
        raise ValueError(
            f"a header of {size:,} bytes in a file of {length:,}; "
            f"at most {MAX_HEADER:,} are allowed"
        )
    header = _read_header(file, size)
    end = 0
    for first, last, name in sorted(_read_span(name, header[name]) for name in header):
        if first != end:
            raise ValueError(
                f"tensor {name!r:.100} starts at byte {first:,}, the one before ends at {end:,}"
            )
        end = last
    if end != length - 8 - size:
        raise ValueError(f"its tensors need {end:,} bytes; the file has {length - 8 - size:,}")


def _read_header(file: BufferedReader, size: int) -> dict[str, Any]:
    """Read the tensors by their names."""
    raw = os.pread(file.fileno(), size, 8)
    if len(raw) != size or not raw.startswith(b"{"):
        raise ValueError("its header is not a JSON object")
    header: dict[str, Any] = strict.parse_json(raw)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict):
        raise ValueError("its metadata contains values that are not strings")  # noqa: TRY004  reported as any other damage
    for value in metadata.values():
        if not isinstance(value, str):
            raise ValueError("its metadata contains values that are not strings")  # noqa: TRY004  as above
    return header


def _read_span(name: str, tensor: Any) -> tuple[int, int, str]:
    """Return first byte, last byte and name of a tensor; its dtype, shape and offsets agree."""
    match tensor:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [first, last], **rest} if (
            not rest
        ):
            pass
        case _:
            raise ValueError(
                f"tensor {name!r:.100} has other keys than dtype, shape and data_offsets"
            )
    if dtype not in BYTES:
        raise ValueError(
            f"tensor {name!r:.100} has the dtype {dtype!r:.20}; known: {', '.join(BYTES)}"
        )
    if len(shape) > MAX_RANK or not all(map(_is_count, (*shape, first, last))):
        raise ValueError(f"tensor {name!r:.100} has a shape or offsets that are not numbers from 0")
    expected = prod(shape) * BYTES[dtype]
    if last - first != expected:
        raise ValueError(
            f"tensor {name!r:.100} of shape {shape!r:.100} and dtype {dtype}: "
            f"expected {expected:,} bytes, found {last - first:,}"
        )
    return first, last, name


def _is_count(number: object) -> bool:
    return type(number) is int and number >= 0
