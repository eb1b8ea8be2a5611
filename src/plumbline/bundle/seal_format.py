"""Read bundle.json strictly: it names the files, so it is checked before any of them is touched."""

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
CODE, PACKAGE = "predictor.py", "predictor"  # a bundle has one of them
# No hidden file, and no folder but that of the predictor's modules.
FILE_NAME = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,98}[A-Za-z0-9]|predictor/[A-Za-z_]\w{0,98}\.py", re.ASCII
)
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


def parse_seal(raw: bytes, path: Path) -> dict[str, Any]:
    """Parse the seal in `raw`; BundleError, naming `path`, if `seal` does not write such a one."""
    from pydantic import ValidationError  # slow to load, and --help comes here

    try:
        return _check_seal(strict.parse_json(raw))
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))[:100]
        reason = f"{place!r}: {fault['msg']}"
    except ValueError as error:
        reason = str(error)
    raise BundleError(f"{path}: damaged ({reason}); train the candidate again")


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
    from plumbline.bundle.seal_model import Seal

    seal = Seal.model_validate(sealed)
    _check_files(seal.files)
    names = {field.name for field in seal.signature.inputs}
    required = {field.name for field in seal.signature.inputs if field.required}
    has_columns = required <= set(seal.example) <= names
    _expect(has_columns, "example: its columns are not those of the signature")
    checked: dict[str, Any] = sealed
    return checked


def _check_files(files: Mapping[str, str]) -> None:
    _expect(len(files) <= MAX_FILES, f"files: {len(files)} files; at most {MAX_FILES} are allowed")
    for name, digest in files.items():
        _expect(
            FILE_NAME.fullmatch(name) and ".." not in name and name != SEAL,
            f"files: {name!r:.100} is not a valid file name; it may hold letters, digits, '.', '_' "
            f"and '-', and no sub-folder but {PACKAGE}/",
        )
        _expect(DIGEST.fullmatch(digest), f"files: {name}: {digest!r:.100} is not a SHA-256")
    _expect(len({name.lower() for name in files}) == len(files), "files: names differ only in case")
    beginnings = {CODE, f"{PACKAGE}/__init__.py"} & set(files)
    num_modules = sum(map(is_code, files))
    _expect(beginnings, f"files: there is no {CODE} and no {PACKAGE}/__init__.py")
    _expect(CODE not in files or num_modules == 1, f"files: {CODE} and {PACKAGE}/ are both there")


def _expect(true: object, message: str) -> None:
    if not true:
        raise ValueError(message)
