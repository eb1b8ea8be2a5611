"""Sources of sixty rows, and a way to read them without any task."""

from dataclasses import dataclass, field
from pathlib import Path

from plumbline.sources.parts import locate_parts
from plumbline.sources.source_part import SourcePart
from plumbline.tables.records import ReadRequest, SourceRow, WantedColumn

ROWS = [
    (f"ticket number {number} is about {'money' if number % 2 else 'parcels'}", "ab"[number % 2])
    for number in range(60)
]
LINES = [f"{text},{label}\n" for text, label in ROWS]
CSV = "text,label\n" + "".join(LINES)
COLUMNS = (
    WantedColumn("text", "data.columns.text", synonyms=("body", "message")),
    WantedColumn("label", "data.columns.label", synonyms=("category", "class")),
)


@dataclass
class ReadResult:
    """What was read: the parts, each with its rows, and what readers noted."""

    parts: list[SourcePart]
    rows: dict[str, SourceRow] = field(default_factory=dict)  # <part>:<number> -> row
    notices: list[str] = field(default_factory=list)

    @property
    def values(self) -> list[tuple[str | None, ...]]:
        """The values of all rows, in order."""
        return [tuple(row.values) for row in self.rows.values()]


def read_source(
    address: str,
    columns: tuple[WantedColumn, ...] = COLUMNS,
    refuse_encoding: bool = False,
    **pins: str,
) -> ReadResult:
    """Read all rows of the source at `address`; `pins` are digests by address."""
    parts = locate_parts([(None, address)], pins)
    request = ReadRequest(columns, refuse_encoding)
    result = ReadResult(parts, notices=request.notices)
    for part in parts:
        for row in part.read_rows(request):
            result.rows[f"{part.name}:{row.number}"] = row
    return result


def read_bytes(raw: bytes | str, folder: Path, name: str = "a.csv", **options: bool) -> ReadResult:
    """Write `raw` to a file and read it."""
    (folder / name).write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return read_source(name, **options)
