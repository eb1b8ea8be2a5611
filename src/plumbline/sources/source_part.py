"""One part of a source, such as a file or a query, whose rows can be read again and again."""

from collections.abc import Callable, Sequence
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
    # Returns what reads the part a piece at a time, in order; None: it is read as a whole.
    cut: Callable[[], Sequence[ReadRows]] | None = None
    is_shared: bool = False  # every machine can read it

    def list_pieces(self) -> Sequence[ReadRows]:
        """Return what reads the part: each takes rows of its own, which follow each other."""
        return [self.read_rows] if self.cut is None else self.cut()
