"""Which files a bundle may hold, by their names and content: none can run code when it is read.

ONNX Runtime refuses graphs that name files outside of the bundle, or operators of other libraries.
"""

import os
from collections.abc import Callable
from io import BufferedReader
from pathlib import PurePath
from typing import Any

from plumbline.bundle import strict

MAX_JSON, MAX_CODE = 256 << 20, 1 << 20  # bytes
PICKLES = (b"PK\x03\x04", *(bytes([0x80, protocol]) for protocol in range(2, 6)))
CUSTOM_CODE = {  # keys that make libraries fetch or run code
    "auto_map", "trust_remote_code", "custom_pipelines", "custom_generate", "code_revision",
    "_attn_implementation", "_target_", "py/object", "py/reduce", "py/type", "py/function",
    "__reduce__", "loader_module",
}  # fmt: skip


def check_kind(name: str, file: BufferedReader) -> None:
    """ValueError where an open file is not what its name says, or of a kind that is not allowed."""
    by_suffix: dict[str, Callable[[BufferedReader], None]] = {
        ".json": _check_json,
        ".onnx": _check_graph,
        ".py": _check_code,
        ".safetensors": _check_tensors,
    }
    suffix = PurePath(name).suffix
    if suffix not in by_suffix:
        raise ValueError(f"this kind of file is not allowed; a bundle holds {', '.join(by_suffix)}")
    by_suffix[suffix](file)


def _check_json(file: BufferedReader) -> None:
    _refuse_custom_code(strict.parse_json(_read_whole(file, MAX_JSON)))


def _refuse_custom_code(content: Any) -> None:
    """A vocabulary may hold any word, with its number; as anything else such a key is an order."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for key in CUSTOM_CODE & value.keys():
                if type(value[key]) is not int:
                    raise ValueError(f"holds the key {key!r}, which asks for code from elsewhere")
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _check_graph(file: BufferedReader) -> None:
    if os.pread(file.fileno(), 4, 0).startswith(PICKLES):
        raise ValueError("is a pickle, or a zip archive such as torch.save writes, not ONNX")


def _check_tensors(file: BufferedReader) -> None:
    """Let the library compare header and length: it reads no value."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(f"/dev/fd/{file.fileno()}", "np"):
            pass
    except SafetensorError as error:
        raise ValueError(f"not valid safetensors ({error})") from None


def _check_code(file: BufferedReader) -> None:
    text = _read_whole(file, MAX_CODE).decode("utf-8")
    if "\0" in text:
        raise ValueError("not valid Python source: it holds a NUL")


def _read_whole(file: BufferedReader, limit: int) -> bytes:
    length = os.fstat(file.fileno()).st_size
    if length > limit:
        raise ValueError(f"{length:,} bytes; at most {limit:,} are allowed")
    return os.pread(file.fileno(), length, 0)
