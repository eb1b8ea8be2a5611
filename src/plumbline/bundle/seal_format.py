"""Read bundle.json strictly: it names the files, so it is checked before any of them is touched."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from plumbline.bundle import strict
from plumbline.contract import layout
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Field, Param, Signature

SEAL = layout.BUNDLE_SEAL
FORMAT = 2
MAX_SEAL = 1 << 20  # bytes
MAX_FILES = 64
CODE, PACKAGE = "predictor.py", "predictor"  # a bundle has one of them
# No hidden file, and no folder but that of the predictor's modules.
FILE_NAME = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,98}[A-Za-z0-9]|predictor/[A-Za-z_]\w{0,98}\.py", re.ASCII
)
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9._-]{0,99}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class _Part(BaseModel):
    """A part of a seal; it holds these keys and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _Field(_Part):
    name: Name
    type: str | dict[str, Any]
    required: bool


class _Param(_Part):
    name: Name
    type: str | dict[str, Any]
    default: Any


class _Signature(_Part):
    inputs: list[_Field]
    outputs: list[_Field]
    params: list[_Param]


class _Source(_Part):
    columns: dict[Name, Name] = {}
    encoding: Literal["replace", "refuse"] = "replace"


class _Seal(_Part):
    format: Literal[2]
    task: Word
    candidate: Word
    signature: _Signature
    example: dict[str, Annotated[list[Any], pydantic.Field(min_length=1)]]
    files: Annotated[dict[str, str], pydantic.Field(max_length=MAX_FILES)]
    source: _Source = _Source()


def parse_seal(raw: bytes, path: Path) -> dict[str, Any]:
    """Parse the seal in `raw`; BundleError, naming `path`, if `seal` does not write such a one."""
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
    is_object = isinstance(sealed, dict)
    if is_object and (sealed.get("format") != FORMAT or type(sealed["format"]) is not int):
        raise ValueError(
            f"bundle format {sealed.get('format')!r}; this version of plumbline reads {FORMAT}"
        )
    seal = _Seal.model_validate(sealed)
    _check_files(seal.files)
    names = {field.name for field in seal.signature.inputs}
    required = {field.name for field in seal.signature.inputs if field.required}
    has_columns = required <= set(seal.example) <= names
    _expect(has_columns, "example: its columns are not those of the signature")
    checked: dict[str, Any] = sealed
    return checked


def _check_files(files: Mapping[str, str]) -> None:
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
