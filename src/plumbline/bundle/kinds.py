"""Which files a bundle may hold, by their names and content: none can run code when it is read."""

import os
from collections.abc import Callable
from io import BufferedReader
from pathlib import PurePath
from typing import Any

from plumbline.bundle import graphs, strict, tensors

MAX_JSON, MAX_CODE = 256 << 20, 1 << 20  # bytes
FOREIGN = {  # how files begin that are something else, whatever they are called
    b"PK\x03\x04": "a zip archive, such as torch.save writes",
    b"PK\x05\x06": "a zip archive",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"\x7fELF": "a program",
    b"MZ": "a program",
    b"\xca\xfe\xba\xbe": "a program",
    b"\xcf\xfa\xed\xfe": "a program",
    b"\x93NUMPY": "a NumPy array, which can hold pickles",
    b"\x89HDF": "HDF5",
    b"\xa7\x0d\x0d\x0a": "Python bytecode",
    **{bytes([0x80, protocol]): "a pickle" for protocol in range(2, 6)},
}
TAR, TAR_AT = b"ustar", 257
CUSTOM_CODE = {  # keys that make libraries fetch or run code
    "auto_map", "trust_remote_code", "custom_pipelines", "custom_generate", "code_revision",
    "_attn_implementation", "_target_", "py/object", "py/reduce", "py/type", "py/function",
    "__reduce__", "loader_module",
}  # fmt: skip


def check_kind(name: str, file: BufferedReader) -> None:
    """ValueError where an open file is not what its name says, or of a kind that is not allowed."""
    by_suffix: dict[str, Callable[[BufferedReader], None]] = {
        ".json": _check_json,
        ".onnx": graphs.check_graph,
        ".py": _check_code,
        ".safetensors": tensors.check_tensors,
    }
    suffix = PurePath(name).suffix
    if suffix not in by_suffix:
        raise ValueError(f"this kind of file is not allowed; a bundle holds {', '.join(by_suffix)}")
    head = os.pread(file.fileno(), TAR_AT + len(TAR), 0)
    may_begin_so = suffix == ".safetensors" and _is_possible_header_length(head)
    for magic, kind in FOREIGN.items():
        if head.startswith(magic) and not may_begin_so:
            raise ValueError(f"is {kind}, not what its name says")
    if head[TAR_AT:] == TAR:
        raise ValueError("is a tar archive, not what its name says")
    by_suffix[suffix](file)


def _is_possible_header_length(head: bytes) -> bool:
    """Whether it begins as safetensors do: with the header's length and its first brace."""
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= tensors.MAX_HEADER


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


def _check_code(file: BufferedReader) -> None:
    text = _read_whole(file, MAX_CODE).decode("utf-8")
    if "\0" in text:
        raise ValueError("not valid Python source: it holds a NUL")


def _read_whole(file: BufferedReader, limit: int) -> bytes:
    length = os.fstat(file.fileno()).st_size
    if length > limit:
        raise ValueError(f"{length:,} bytes; at most {limit:,} are allowed")
    return os.pread(file.fileno(), length, 0)
