"""What is scored and how; every fault that can be found before a row is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.suggestion import suggest_nearest
from plumbline.contract.task import Field, Signature

# Columns beside the answers: who gave them, and why there are none.
MODEL = "model"
ERROR = "error"
PREFIX = "predicted_"  # where the input has a column of an answer's name, such as label
NUM_NAMES = 20  # that an error message lists


@dataclass(frozen=True)
class ScoringRequest:
    """A file and where its answers go; or a folder of files, and the folder for a file to each."""

    input: Path | str  # of a folder also an address such as s3://bucket/folder
    output: Path | str
    params: Mapping[str, Any]  # inference parameters
    columns: Sequence[str] = ()  # which answers are written; all if empty
    prefix: str = ""  # of the names of added columns
    keep_bad: bool = False  # write rows without an answer, with the reason, instead of stopping
    overwrite: bool = False
    renames: bool = True  # answers, where the input has a column of such a name; not in a folder
    # Inputs of the model, and the columns of the file that hold them; others are found by name.
    inputs: Mapping[str, str] = field(default_factory=dict)
    # What to do about an input {name} whose column is missing.
    remedy: str = "say which one it is: --column '{name}=COLUMN'"

    def check_output(self) -> None:
        """Raise ParamsError for an output that cannot be written, or that may not be replaced."""
        output = Path(self.output)
        if not output.parent.is_dir():
            raise ParamsError(f"{output}: no such folder: {output.parent}; create it first")
        if output.is_dir():
            raise ParamsError(f"{output}: is a folder")
        if not output.exists():
            return
        if output.samefile(self.input):
            raise ParamsError(f"{output}: is the input")
        if not self.overwrite:
            raise ParamsError(f"{self.output}: exists; add --overwrite to replace it")

    def list_added_columns(self, signature: Signature) -> list[Field]:
        """Return the columns that the output has in addition to those of the input."""
        known = {field.name: field for field in (*signature.outputs, Field(MODEL, "string"))}
        for name in self.columns:
            if name not in known:
                hint = suggest_nearest(name, list(known)) or f"; known: {', '.join(known)}"
                raise ParamsError(f"--columns {name}: the model has no such output{hint}")
        chosen = [known[name] for name in dict.fromkeys(self.columns or known)]
        if self.keep_bad:
            chosen.append(Field(ERROR, "string"))
        return [Field(self.prefix + field.name, field.type) for field in chosen]

    def find_columns(
        self, names: Sequence[str], signature: Signature, own: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the column of the file for each input of the model that it holds.

        It is the one that the request names, else that of the files that the model learned from
        (`own`), else the one of the input's name. Raises DataError where there is none, and
        ParamsError for an input that the model does not have.
        """
        inputs = {each.name: each for each in signature.inputs}
        for name in self.inputs:
            if name not in inputs:
                hint = suggest_nearest(name, list(inputs)) or f"; known: {', '.join(inputs)}"
                raise ParamsError(f"--column {name}: the model has no such input{hint}")
        found = {}
        for name, each in inputs.items():
            wanted = [self.inputs[name]] if name in self.inputs else [own.get(name, name), name]
            present = [column for column in wanted if column in names]
            if present:
                found[name] = present[0]
            elif names and (each.required or name in self.inputs):
                raise DataError(self._explain_missing(name, wanted[0], names))
        return found

    def check_names(self, names: Sequence[str], signature: Signature) -> None:
        """Raise DataError for a column that has the name of another column, or of an answer."""
        for name in names:
            if names.count(name) > 1:
                raise DataError(f"{self.input}: duplicate column {name!r}; rename one")
        for each in self.list_added_columns(signature):
            if each.name in names:
                raise DataError(
                    f"{self.input}: column {each.name!r} has the name of an answer; "
                    "add --prefix with another text before the names of answers"
                )

    def _explain_missing(self, name: str, column: str, names: Sequence[str]) -> str:
        listed = ", ".join(map(repr, names[:NUM_NAMES]))
        more = ", ..." if len(names) > NUM_NAMES else ""
        hint = suggest_nearest(column, list(names))
        return (
            f"{self.input}: missing column {column!r}{hint}; found {listed}{more}; "
            f"{self.remedy.format(name=name)}"
        )
