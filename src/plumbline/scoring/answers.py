"""What a model says of a chunk of rows, of which rows it can say nothing, and why."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline.contract.task import Field, Signature
from plumbline.scoring.chunks import Chunk

BAD_ROW = re.compile(r"row (\d+): (.*)", re.DOTALL)
TRUTHS = {"true": True, "false": False}

Predict = Callable[[Mapping[str, Sequence[Any]]], dict[str, list[Any]]]


@dataclass(frozen=True)
class Answers:
    """Columns of answers in the order of the rows, None where a row has none; `bad`: what is wrong with that row."""

    columns: dict[str, list[Any]]
    bad: dict[int, str] = field(default_factory=dict)


def answer(predict: Predict, signature: Signature, chunk: Chunk, keep: bool) -> Answers:
    """Ask `predict` for every row of `chunk`; unless bad rows are to be kept, no further than the first of them."""
    bad: dict[int, str] = {}
    asked = {field.name: _typed(field, chunk.column(field.name), bad) for field in signature.inputs}
    found: dict[str, list[Any]] = {
        field.name: [None] * chunk.num_rows for field in signature.outputs
    }
    rest, before = [row for row in range(chunk.num_rows) if row not in bad], list[int]()
    while rest and (keep or not bad):
        try:
            said = predict({name: [values[row] for row in rest] for name, values in asked.items()})
        except ValueError as error:
            at, reason = _named(error, len(rest))
            bad[rest[at]] = reason
            before, rest = before + rest[:at], rest[at + 1 :]  # asked once more, together
            said = {}
        for name, values in said.items():
            for row, value in zip(rest, values, strict=True):
                found[name][row] = value
        if said or not rest:
            rest, before = before, []
    return Answers(found, bad)


def _named(error: ValueError, num_rows: int) -> tuple[int, str]:
    """Which row a predictor's error names, from 0, and what is wrong with it."""
    match = BAD_ROW.match(str(error))
    if not match or int(match[1]) >= num_rows:
        raise PlumblineError(str(error)) from None
    return int(match[1]), match[2]


def _typed(field: Field, values: list[Any], bad: dict[int, str]) -> list[Any]:
    """Text, as CSV has it, read as the type that the model takes; rows where that cannot be are added to `bad`."""
    if field.type == "string":
        return values
    for row, value in enumerate(values):
        if isinstance(value, str):
            try:
                values[row] = _read(field.type, value.strip())
            except (ValueError, KeyError):
                kind = field.type if isinstance(field.type, str) else field.type.get("type")
                bad.setdefault(row, f"{field.name}: expected {kind}, found {value[:40]!r}")
    return values


def _read(kind: str | Mapping[str, Any], text: str) -> Any:
    if not text:
        return None
    if kind in ("double", "float"):
        return float(text)
    if kind in ("long", "integer"):
        return int(text)
    if kind == "boolean":
        return TRUTHS[text.lower()]
    return json.loads(text)
