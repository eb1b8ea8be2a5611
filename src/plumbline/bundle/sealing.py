"""bundle.json read strictly: it says which files there may be, so it is checked before any of them is touched."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.bundle import strict
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Field, Param, Signature

SEAL = "bundle.json"
FORMAT = 2
MAX_SEAL = 1 << 20  # bytes
MAX_FILES = 64
FILE_NAME = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,98}[A-Za-z0-9]", re.ASCII
)  # one folder: no path, no hidden file
WORD = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,99}", re.ASCII)
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
KEYS = {"format", "task", "candidate", "signature", "example", "files"}


def parse(raw: bytes, path: Path) -> dict[str, Any]:
    """What the seal in `raw` says; BundleError, naming `path`, where it is not of the form that `seal` writes."""
    try:
        return _checked(strict.loads(raw))
    except UnicodeDecodeError:
        raise BundleError(f"{path}: damaged (no UTF-8); train the candidate again") from None
    except ValueError as error:
        raise BundleError(f"{path}: damaged ({error}); train the candidate again") from None


def signature(found: Mapping[str, Any]) -> Signature:
    """The signature as it stands in a seal."""
    inputs, outputs = (
        tuple(Field(**field) for field in found[side]) for side in ("inputs", "outputs")
    )
    return Signature(inputs, outputs, tuple(Param(**param) for param in found["params"]))


def _checked(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError("no JSON object")  # noqa: TRY004  told as any other damage
    if found.get("format") != FORMAT or type(found["format"]) is not int:
        raise ValueError(
            f"bundle format {found.get('format')!r}; this version of plumbline reads {FORMAT}"
        )
    _expect(
        set(found) == KEYS,
        f"its keys are {', '.join(sorted(found))[:200]}; expected {', '.join(sorted(KEYS))}",
    )
    for key in ("task", "candidate"):
        _expect(
            isinstance(found[key], str) and WORD.fullmatch(found[key]),
            f"{key}: {found[key]!r:.100} is no name",
        )
    _check_files(found["files"])
    _check_signature(found["signature"])
    _check_example(found["example"], found["signature"]["inputs"])
    return found


def _check_files(files: Any) -> None:
    _expect(isinstance(files, dict), "files: no JSON object")
    _expect(len(files) <= MAX_FILES, f"files: {len(files)} files; at most {MAX_FILES} are allowed")
    for name, digest in files.items():
        _expect(
            FILE_NAME.fullmatch(name) and ".." not in name and name != SEAL,
            f"files: {name!r:.100} is no file name; it may hold letters, digits, '.', '_' and '-', and no sub-folder",
        )
        _expect(
            isinstance(digest, str) and DIGEST.fullmatch(digest),
            f"files: {name}: {digest!r:.100} is no SHA-256",
        )
    lower = [name.lower() for name in files]
    clashes = sorted(name for name in files if lower.count(name.lower()) > 1)
    _expect(not clashes, f"files: {', '.join(clashes)} differ in nothing but case")
    _expect("predictor.py" in files, "files: there is no predictor.py")


def _check_signature(found: Any) -> None:
    _expect(
        isinstance(found, dict) and set(found) == {"inputs", "outputs", "params"},
        "signature: not of its form",
    )
    for side, keys in (
        ("inputs", {"name", "type", "required"}),
        ("outputs", {"name", "type", "required"}),
        ("params", {"name", "type", "default"}),
    ):
        entries = found[side]
        _expect(
            isinstance(entries, list) and len(entries) <= 1000,
            f"signature: {side}: no list of a sensible length",
        )
        for entry in entries:
            _expect(
                isinstance(entry, dict)
                and set(entry) in (keys, keys - {"required"}),  # once there was no such key
                f"signature: {side}: {entry!r:.100} has other keys",
            )
            _expect(
                isinstance(entry["name"], str) and 0 < len(entry["name"]) <= 200,
                f"signature: {side}: a bad name",
            )
            _expect(
                isinstance(entry["type"], str | dict),
                f"signature: {side}: {entry['name']!r} has no type",
            )
            _expect(
                isinstance(entry.get("required", True), bool),
                f"signature: {side}: {entry['name']!r}: required?",
            )
        names = [entry["name"] for entry in entries]
        _expect(len(set(names)) == len(names), f"signature: {side}: a name stands twice")


def _check_example(found: Any, inputs: list[dict[str, Any]]) -> None:
    names = {field["name"] for field in inputs}
    needed = {field["name"] for field in inputs if field.get("required", True)}
    fits = isinstance(found, dict) and needed <= set(found) <= names
    _expect(fits, "example: its columns are not those of the signature")
    _expect(
        all(isinstance(values, list) and values for values in found.values()),
        "example: a column holds no rows",
    )
    _expect(
        len({len(values) for values in found.values()}) <= 1,
        "example: its columns differ in length",
    )


def _expect(true: object, otherwise: str) -> None:
    if not true:
        raise ValueError(otherwise)
