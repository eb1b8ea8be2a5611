"""JSON objects, one on each line."""

import io
import json
import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.tables.batches import Record, TextTable
from plumbline.tables.records import CHUNK_CHARS, CHUNK_ROWS
from plumbline.tables.text_lines import LINE_ENDS, DecodedLines

ARRAY_REMEDY = "an array has to become one object on each line: jq -c '.[]' data.json > data.jsonl"


class JsonTable(TextTable):
    """The objects of a file; empty lines are ignored."""

    def __init__(
        self, stream: io.BufferedReader, name: str, *, refuse_encoding: bool = False
    ) -> None:
        super().__init__(DecodedLines(stream, name, refuse_encoding))
        self._records = self._parse()
        self._head: list[Record] = []
        self._read_head()  # an object may lack what others have

    def __iter__(self) -> Iterator[Record]:
        return chain(self._head, self._records)

    def get_first_values(self, name: str) -> list[Any]:
        """Return the values of a key in the first rows."""
        return self.get_column([record for _, record, _ in self._head], name)

    def get_column(self, rows: Sequence[dict[str, Any]], name: str) -> list[Any]:
        """Return the values of a key, None where an object lacks it."""
        return [row.get(name) for row in rows]

    def _read_head(self) -> None:
        """Read as many objects as are held in memory at once."""
        has_flat_values: dict[str, bool] = {}  # by key
        for record in self._records:
            self._head.append(record)
            for key, value in record[1].items():
                has_flat_values[key] = has_flat_values.get(key, True) and _is_flat(value)
            if len(self._head) == CHUNK_ROWS or self._lines.num_chars > CHUNK_CHARS:
                break
        self.num_rows = None if self._head else 0
        self.names = self.header = list(has_flat_values)
        self.flat_columns = [key for key, is_flat in has_flat_values.items() if is_flat]

    def _parse(self) -> Iterator[Record]:
        num_repaired = 0
        for line in self._lines:
            repaired = self._lines.num_repaired > num_repaired
            num_repaired = self._lines.num_repaired
            if not line.strip():
                continue
            record = _parse_object(line, f"{self._name}:{self._lines.number}")
            if "\\ud" in line or "\\uD" in line:
                text = json.dumps(record, ensure_ascii=False)
                complete = json.loads(replace_surrogates(text))
                repaired = repaired or complete != record
                record = complete
            yield self._lines.number, record, repaired


def replace_surrogates(value: str) -> str:
    r"""Replace unpaired surrogates by `?`: an escape such as \ud83d alone is not a character."""
    return value.encode("utf-8", "replace").decode()


def refuse_json(line: str, name: str) -> None:
    """Raise DataError if the first line of a file that is named as CSV is JSON."""
    if line.lstrip().startswith(("[", "{")):
        raise DataError(
            f"{name}: JSON, not CSV; name it .jsonl if each line has one object; {ARRAY_REMEDY}"
        )


def _is_flat(value: Any) -> bool:
    """Whether it is neither an object nor a list of other things than texts."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return not isinstance(value, dict)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the same key twice: {twice!r}")
    return record


def _parse_number(text: str) -> float:
    """Return a number; ValueError where it is infinite. NaN is read: it says that none is there."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:30]} is beyond the numbers of a computer")
    return number


DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object, parse_float=_parse_number, parse_constant=_parse_number
)


def _parse_object(line: str, place: str) -> dict[str, Any]:
    try:
        record = DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        reason = str(error)
    else:
        if isinstance(record, dict):
            return record
        reason = f"found {type(record).__name__}"
    message = f"{place}: not a JSON object on one line ({reason})"
    if line.lstrip().startswith("["):
        message += f"; {ARRAY_REMEDY}"
    elif "}\r" in line.strip():
        message += f"; {LINE_ENDS}"
    raise DataError(message)
