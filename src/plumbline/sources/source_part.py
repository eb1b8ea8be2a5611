"""One part of a source, such as a file or a query, whose rows can be read again and again."""

from dataclasses import dataclass
from typing import Any

from plumbline.tables.records import ReadRows


@dataclass(frozen=True)
class SourcePart:
    """One part of the source (a file, a query, a split of the hub); it can be read repeatedly."""

    name: str
    split: str | None  # None: the task divides the rows
    read_rows: ReadRows
    facts: dict[str, Any]
