"""The form of bundle.json: what it says of a bundle, and in which types."""

from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, StringConstraints

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


class Seal(_Part):
    """bundle.json; the names of its files are checked by `seal_format`."""

    format: Literal[2]
    task: Word
    candidate: Word
    signature: _Signature
    example: dict[str, Annotated[list[Any], pydantic.Field(min_length=1)]]
    files: dict[str, str]
    source: _Source = _Source()
