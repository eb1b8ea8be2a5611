"""Rows and their answers as text; where the form stays the same, a row stands in the output byte for byte as it was."""

import base64
import csv
import datetime
import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from plumbline.serving.score.chunks import DELIMITERS, Chunk, Form, Source

PACKED_LEVEL = 6

Columns = Mapping[str, Sequence[Any]]


class Delimited:
    """CSV or TSV; what is nested is written as JSON."""

    def __init__(self, form: Form, source: Source, same: bool, names: Sequence[str]) -> None:
        self._form, self._columns, self._names, self._same = form, source.names, names, same
        self._delimiter, self._end = DELIMITERS[form.kind], source.end
        self._header = source.header

    def header(self) -> bytes:
        """The names of columns and answers."""
        if self._same:
            return self._packed(self._behind([self._header], [self._names]))
        return self._packed(self._lines([[*self._columns, *self._names]]))

    def encoded(self, chunk: Chunk, answers: Columns) -> bytes:
        """Rows with their answers."""
        said = zip(*(map(_cell, answers[name]) for name in self._names), strict=True)
        if self._same:
            return self._packed(self._behind(chunk.raw, said))
        cells = zip(*(map(_cell, chunk.column(name)) for name in self._columns), strict=True)
        return self._packed(self._lines((*row, *answer) for row, answer in zip(cells, said, strict=True)))

    def finish(self, rows: Path) -> Path:
        """All rows are the output."""
        return rows

    def _behind(self, raw: Iterable[str], said: Iterable[Sequence[str]]) -> Iterator[str]:
        return (f"{row}{self._delimiter}{answer}" for row, answer in zip(raw, self._lines(said), strict=True))

    def _lines(self, rows: Iterable[Sequence[str]]) -> list[str]:
        lines: list[str] = []
        each = SimpleNamespace(write=lines.append)  # csv writes a row at a time
        csv.writer(each, delimiter=self._delimiter, lineterminator=self._end).writerows(rows)
        return lines

    def _packed(self, lines: Iterable[str]) -> bytes:
        return packed("".join(lines), self._form)


class JsonLines:
    """One JSON object a line."""

    def __init__(self, form: Form, source: Source, same: bool, names: Sequence[str]) -> None:
        self._form, self._columns, self._names, self._same = form, source.names, names, same

    def header(self) -> bytes:
        """Nothing stands before the first row."""
        return b""

    def encoded(self, chunk: Chunk, answers: Columns) -> bytes:
        """Rows with their answers."""
        said = {name: answers[name] for name in self._names}
        if self._same:
            objects = zip(chunk.raw, _objects(said), strict=True)
            rows = (f"{raw[:-1].rstrip()}, {answer[1:]}\n" for raw, answer in objects)
        else:
            rows = (f"{row}\n" for row in _objects({n: chunk.column(n) for n in self._columns} | said))
        return packed("".join(rows), self._form)

    def finish(self, rows: Path) -> Path:
        """All rows are the output."""
        return rows


def packed(text: str, form: Form) -> bytes:
    """UTF-8, in a gzip member of its own where the form asks for it; members in a row are one file."""
    raw = text.encode()
    return gzip.compress(raw, PACKED_LEVEL, mtime=0) if form.packed and raw else raw


def _objects(columns: Columns) -> Iterator[str]:
    names = list(columns)
    return (_json(dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True))


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=_plain)


def _finite(value: Any) -> Any:
    """The value with null for NaN and infinity, which JSON has no words for."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return _json(value)
    return repr(value) if isinstance(value, float) else _plain(value)
