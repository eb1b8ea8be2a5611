"""Files as sources: found on this machine by name or pattern, and compared with pinned digests."""

import glob
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.suggestion import suggest_nearest
from plumbline.process.files import digest_path
from plumbline.sources.addresses import hide_secrets
from plumbline.sources.source_part import SourcePart
from plumbline.sources.stores import refuse_driver_errors
from plumbline.tables import formats
from plumbline.tables.records import ReadRequest, SourceRow

HIDDEN = ("_", ".")  # begins a name that engines take for no data
NUM_SIBLINGS = 8  # how many files of the folder a message lists


@dataclass(frozen=True)
class SourceFile:
    """A file that is read by its ending, wherever it is."""

    address: str  # as in params, or as its pattern matched it: the key under data.sha256
    split: str | None
    open: Callable[[], IO[bytes]]
    sha256: str | None  # None: not known before the file is read

    @property
    def shown(self) -> str:
        """The address as it may be shown."""
        return hide_secrets(self.address)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return PurePosixPath(self.shown).name


def list_local_files(pattern: str, split: str | None) -> list[SourceFile]:
    """Return the files that match `pattern`, sorted; raises DataError where there is none."""
    matches = glob.glob(pattern, recursive=True)  # noqa: PTH207 - unlike Path.glob it takes an absolute pattern
    paths = sorted(path for path in matches if Path(path).is_file())
    if pattern not in paths:
        paths = [path for path in paths if _has_content(Path(path))]
    if not paths and Path(pattern).is_file():  # a name that holds [ or ? itself
        paths = [pattern]
    if not paths:
        raise DataError(_explain_no_match(pattern))
    return [open_local_file(Path(path), path, split) for path in paths]


def open_local_file(path: Path, address: str, split: str | None) -> SourceFile:
    """Return the file at `path` under its address in params, with its digest."""
    try:
        digest = digest_path(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    return SourceFile(address, split, partial(formats.open_file, path.absolute()), digest)


def check_pins(pins: Mapping[str, str], files: Iterable[SourceFile]) -> None:
    """Compare files with the digests under data.sha256 (address -> SHA-256).

    Raises ParamsError for a pin of no file, and DataError for a file with another digest.
    """
    by_address = {file.address: file for file in files}
    for address in pins:
        if address not in by_address:
            hint = suggest_nearest(address, list(by_address))
            raise ParamsError(
                f"data.sha256: {hide_secrets(address)}: not a file of data.source{hint}"
            )
    for address, file in by_address.items():
        expected = pins.get(address)
        if expected is None:
            continue
        actual = file.sha256 or _compute_digest(file)
        if actual != expected:
            raise DataError(f"{file.shown}: has SHA-256 {actual}, but data.sha256 pins {expected}")


def build_file_part(file: SourceFile, name: str) -> SourcePart:
    """Return the rows of `file`, whose ids begin with `name`."""
    formats.find_kind(name)  # refuses an ending that none knows
    facts = {"name": file.shown, "sha256": file.sha256}
    return SourcePart(name, file.split, partial(_read_rows, file, name), facts)


def _read_rows(file: SourceFile, name: str, request: ReadRequest) -> Iterator[SourceRow]:
    with refuse_driver_errors(file.shown):
        yield from formats.read_rows(file.open(), name, request)


def _compute_digest(file: SourceFile) -> str:
    with refuse_driver_errors(file.shown), file.open() as opened:
        # IO[bytes] has no readinto in typeshed; every binary file that is opened here has it.
        return hashlib.file_digest(opened, "sha256").hexdigest()  # type: ignore[arg-type]


def _has_content(path: Path) -> bool:
    """Whether it is neither a mark of an engine, such as _SUCCESS, nor a part without a byte."""
    return not path.name.startswith(HIDDEN) and path.stat().st_size > 0


def _explain_no_match(pattern: str) -> str:
    path = Path(pattern)
    if path.is_dir():
        return f"{pattern}: a folder; name the files in it, such as {pattern}/*.csv"
    siblings = [other.name for other in path.parent.glob("*")]
    hint = suggest_nearest(path.name, siblings)
    if not hint:
        listed = ", ".join(sorted(siblings)[:NUM_SIBLINGS])
        hint = f"; {path.parent} holds {listed or 'nothing'}"
    return f"{pattern}: no such file{hint}"
