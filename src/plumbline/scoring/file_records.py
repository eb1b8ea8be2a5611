"""The record of one scored file, beside the answers: which run wrote it, of which content."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from plumbline.scoring.folders import RECORDS, FileFolder, hash_name


@dataclass(frozen=True)
class FileRecord:
    """What came of one file; without `output` the run was cut off."""

    run: Mapping[str, Any] = field(default_factory=dict)  # all that the answers depend on
    num_rows: int = 0
    num_bad: int = 0
    sha256: str = ""  # of the answers
    output: Mapping[str, Any] | None = None  # what identifies the answers in their folder
    replaced: Mapping[str, Any] | None = None  # the answers that were there, and may be replaced


def write_record(target: FileFolder, name: str, record: FileRecord) -> None:
    """Write the record of a file."""
    target.write_json(_locate(name), {"name": name, **asdict(record)})


def read_record(target: FileFolder, name: str) -> FileRecord | None:
    """Read the record of a file; None where there is none, or it is not one."""
    match target.read_json(_locate(name)):
        case {
            "name": str() as recorded,
            "run": {"input": dict()} as run,
            "num_rows": int() as num_rows,
            "num_bad": int() as num_bad,
            "sha256": str() as sha256,
            "output": dict() | None as output,
            "replaced": dict() | None as replaced,
        } if recorded == name:
            return FileRecord(run, num_rows, num_bad, sha256, output, replaced)
    return None


def _locate(name: str) -> str:
    return f"{RECORDS}/{hash_name(name)}.json"
