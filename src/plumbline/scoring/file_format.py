"""The file formats, which a file's name tells."""

from dataclasses import dataclass
from pathlib import Path

from plumbline.contract.errors import ParamsError

KINDS = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


@dataclass(frozen=True)
class FileFormat:
    """The format of a file's content."""

    kind: str  # csv, tsv, jsonl or parquet
    is_gzip: bool


def parse_format(path: Path) -> FileFormat:
    """Return the format that the name of a file tells; ParamsError if it tells none."""
    is_gzip = path.suffix.lower() == ".gz"
    inner = path.with_suffix("") if is_gzip else path
    kind = KINDS.get(inner.suffix.lower())
    if kind is None or (is_gzip and kind == "parquet"):
        raise ParamsError(
            f"{path}: unknown file format; supported: {', '.join(KINDS)}, "
            "and all but Parquet with .gz"
        )
    return FileFormat(kind, is_gzip)
