"""Read bundle.json strictly: it names the files, so it is checked before any of them is touched."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.bundle import strict
from plumbline.contract import layout
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Field, Param, Signature

SEAL = layout.BUNDLE_SEAL
FORMAT = 2
MAX_SEAL = 1 << 20  # bytes
MAX_FILES = 64
MAX_FIELDS = 1000
MAX_NAME = 200  # characters
CODE, PACKAGE = "predictor.py", "predictor"  # a bundle has one of them
# No hidden file, and no folder but that of the predictor's modules.
FILE_NAME = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,98}[A-Za-z0-9]|predictor/[A-Za-z_]\w{0,98}\.py", re.ASCII
)
WORD = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,99}", re.ASCII)
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
KEYS = {"format", "task", "candidate", "signature", "example", "files"}
SOURCE_KEYS = {"columns", "encoding"}  # of `source`, which is not in every seal
SIGNATURE_KEYS = {
    "inputs": {"name", "type", "required"},
    "outputs": {"name", "type", "required"},
    "params": {"name", "type", "default"},
}


def parse_seal(raw: bytes, path: Path) -> dict[str, Any]:
    """Parse the seal in `raw`; BundleError, naming `path`, if `seal` does not write such a one."""
    try:
        return _check_seal(strict.parse_json(raw))
    except UnicodeDecodeError:
        raise BundleError(f"{path}: damaged (not UTF-8); train the candidate again") from None
    except ValueError as error:
        raise BundleError(f"{path}: damaged ({error}); train the candidate again") from None


def is_code(name: str) -> bool:
    """Whether a file of a bundle belongs to its predictor."""
    return name == CODE or name.startswith(f"{PACKAGE}/")


def parse_signature(sealed: Mapping[str, Any]) -> Signature:
    """Build the signature from what a seal says of it."""
    return Signature(
        tuple(Field(**field) for field in sealed["inputs"]),
        tuple(Field(**field) for field in sealed["outputs"]),
        tuple(Param(**param) for param in sealed["params"]),
    )


def _check_seal(sealed: Any) -> dict[str, Any]:
    if not isinstance(sealed, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  reported as any other damage
    if sealed.get("format") != FORMAT or type(sealed["format"]) is not int:
        raise ValueError(
            f"bundle format {sealed.get('format')!r}; this version of plumbline reads {FORMAT}"
        )
    _expect(
        set(sealed) - {"source"} == KEYS,
        f"its keys are {', '.join(sorted(sealed))[:200]}; expected {', '.join(sorted(KEYS))}",
    )
    for key in ("task", "candidate"):
        value = sealed[key]
        is_name = isinstance(value, str) and WORD.fullmatch(value)
        _expect(is_name, f"{key}: {value!r:.100} is not a valid name")
    _check_files(sealed["files"])
    _check_signature(sealed["signature"])
    _check_example(sealed["example"], sealed["signature"]["inputs"])
    _check_source(sealed.get("source", {}))
    return sealed


def _check_files(files: Any) -> None:
    _expect(isinstance(files, dict), "files: not a JSON object")
    _expect(len(files) <= MAX_FILES, f"files: {len(files)} files; at most {MAX_FILES} are allowed")
    for name, digest in files.items():
        _expect(
            FILE_NAME.fullmatch(name) and ".." not in name and name != SEAL,
            f"files: {name!r:.100} is not a valid file name; it may hold letters, digits, '.', '_' "
            f"and '-', and no sub-folder but {PACKAGE}/",
        )
        _expect(
            isinstance(digest, str) and DIGEST.fullmatch(digest),
            f"files: {name}: {digest!r:.100} is not a SHA-256",
        )
    lower = [name.lower() for name in files]
    clashes = sorted(name for name in files if lower.count(name.lower()) > 1)
    _expect(not clashes, f"files: {', '.join(clashes)} differ only in case")
    beginnings = {CODE, f"{PACKAGE}/__init__.py"} & set(files)
    num_modules = sum(map(is_code, files))
    _expect(beginnings, f"files: there is no {CODE} and no {PACKAGE}/__init__.py")
    _expect(CODE not in files or num_modules == 1, f"files: {CODE} and {PACKAGE}/ are both there")


def _check_signature(signature: Any) -> None:
    is_complete = isinstance(signature, dict) and set(signature) == set(SIGNATURE_KEYS)
    _expect(is_complete, f"signature: expected an object of {', '.join(SIGNATURE_KEYS)}")
    for side, keys in SIGNATURE_KEYS.items():
        entries = signature[side]
        _expect(
            isinstance(entries, list) and len(entries) <= MAX_FIELDS,
            f"signature: {side}: not a list of at most {MAX_FIELDS} entries",
        )
        for entry in entries:
            _check_entry(entry, keys, f"signature: {side}")
        names = [entry["name"] for entry in entries]
        _expect(len(set(names)) == len(names), f"signature: {side}: a name occurs twice")


def _check_entry(entry: Any, keys: set[str], label: str) -> None:
    has_keys = isinstance(entry, dict) and set(entry) == keys
    _expect(has_keys, f"{label}: {entry!r:.100} has other keys than {', '.join(sorted(keys))}")
    name = entry["name"]
    is_name = isinstance(name, str) and 0 < len(name) <= MAX_NAME
    _expect(is_name, f"{label}: {name!r:.100} is not a valid name")
    _expect(isinstance(entry["type"], str | dict), f"{label}: {name!r} has no valid type")
    is_told = isinstance(entry.get("required", True), bool)  # params have no such key
    _expect(is_told, f"{label}: {name!r}: `required` is not true or false")


def _check_example(example: Any, inputs: list[dict[str, Any]]) -> None:
    names = {field["name"] for field in inputs}
    required = {field["name"] for field in inputs if field["required"]}
    has_columns = isinstance(example, dict) and required <= set(example) <= names
    _expect(has_columns, "example: its columns are not those of the signature")
    lengths = set()
    for values in example.values():
        _expect(isinstance(values, list) and values, "example: a column holds no rows")
        lengths.add(len(values))
    _expect(len(lengths) <= 1, "example: its columns differ in length")


def _check_source(source: Any) -> None:
    is_known = isinstance(source, dict) and set(source) <= SOURCE_KEYS
    _expect(is_known, f"source: its keys are not among {', '.join(sorted(SOURCE_KEYS))}")
    columns = source.get("columns", {})
    _expect(isinstance(columns, dict) and len(columns) <= MAX_FIELDS, "source: no valid columns")
    for names in columns.items():
        for name in names:
            is_name = isinstance(name, str) and 0 < len(name) <= MAX_NAME
            _expect(is_name, f"source: {name!r:.100} is not a valid name of a column")
    _expect(source.get("encoding", "replace") in ("replace", "refuse"), "source: encoding")


def _expect(true: object, message: str) -> None:
    if not true:
        raise ValueError(message)
