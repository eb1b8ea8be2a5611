"""What is to be scored and how, and all that can be wrong with that before a row is read."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.params import nearest
from plumbline.contract.task import Field, Signature
from plumbline.scoring.chunks import form

MODEL, ERROR = "model", "error"  # columns beside the answers: who gave them, and why there are none
NUM_NAMES = 20


@dataclass(frozen=True)
class Request:
    """One input, one output."""

    input: Path
    output: Path
    params: Mapping[str, Any]  # inference parameters
    columns: Sequence[str] = ()  # which answers are written; all if empty
    prefix: str = ""  # of the names of columns that are added
    keep_bad: bool = (
        False  # rows that cannot be answered are written with what is wrong, and stop nothing
    )
    overwrite: bool = False

    def check(self) -> None:
        """Raise ParamsError or DataError for files that cannot be read or written."""
        form(self.input), form(self.output)
        if not self.input.is_file():
            raise DataError(
                f"{self.input}: {'not a file' if self.input.exists() else 'there is no such file'}"
            )
        if not os.access(self.input, os.R_OK):
            raise DataError(f"{self.input}: may not be read by this user")
        if not self.output.parent.is_dir():
            raise ParamsError(
                f"{self.output}: there is no folder {self.output.parent}; make it first"
            )
        self.check_output()

    def check_output(self) -> None:
        """Raise ParamsError for an output that is there and may not be replaced."""
        if self.output.is_dir() or (self.output.exists() and self.output.samefile(self.input)):
            raise ParamsError(
                f"{self.output}: {'a folder' if self.output.is_dir() else 'is the input'}"
            )
        if self.output.exists() and not self.overwrite:
            raise ParamsError(f"{self.output}: exists; add --overwrite to replace it")

    def added(self, signature: Signature) -> list[Field]:
        """The columns that the output has beside those of the input."""
        known = {field.name: field for field in (*signature.outputs, Field(MODEL, "string"))}
        for name in self.columns:
            if name not in known:
                hint = nearest(name, list(known)) or f"; known: {', '.join(known)}"
                raise ParamsError(f"--columns {name}: the model gives no such answer{hint}")
        chosen = [known[name] for name in dict.fromkeys(self.columns or known)]
        chosen += [Field(ERROR, "string")] if self.keep_bad else []
        return [Field(self.prefix + field.name, field.type) for field in chosen]

    def check_names(self, found: Sequence[str], signature: Signature) -> None:
        """Raise DataError for an input that lacks a column, or has one that is called like an answer."""
        for field in signature.inputs:
            # lines of JSON have no columns where there is no line
            if found and field.required and field.name not in found:
                shown = ", ".join(map(repr, found[:NUM_NAMES])) + (
                    ", ..." if len(found) > NUM_NAMES else ""
                )
                hint = nearest(field.name, list(found))
                raise DataError(
                    f"{self.input}: no column {field.name!r}{hint}; found {shown or 'none'}"
                )
        for name in found:
            if found.count(name) > 1:
                raise DataError(f"{self.input}: two columns are called {name!r}; rename one")
        if taken := [field.name for field in self.added(signature) if field.name in found]:
            raise DataError(
                f"{self.input}: has a column {taken[0]!r}, as an answer is called; add --prefix predicted_ "
                f"to have the answer in 'predicted_{taken[0]}'"
            )
