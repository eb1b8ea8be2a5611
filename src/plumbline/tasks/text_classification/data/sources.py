"""From what params name as the source to its parts: files here or elsewhere, a query, a hub data set, a grammar."""

import glob
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit

from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.params import nearest
from plumbline.tasks.text_classification.data import formats
from plumbline.tasks.text_classification.data.rows import Part, Reading, Row
from plumbline.tasks.text_classification.params import TextParams, local_path

SQL = (
    "sqlite",
    "postgresql",
    "mysql",
    "mariadb",
    "mssql",
    "oracle",
    "duckdb",
    "snowflake",
    "bigquery",
    "redshift",
)


def parts(params: TextParams) -> list[Part]:
    """The parts of `data.source`, in a fixed order; DataError where one is missing or not what was pinned."""
    source = params.data.source
    given = [(None, source)] if isinstance(source, str) else list(source.given().items())
    found = [piece for split, one in given for piece in _pieces(one, split, params)]
    files = [piece for piece in found if isinstance(piece, _File)]
    _check_pins(params.data.sha256, files)
    num_named = Counter(file.name for file in files)
    return [
        _part(piece, num_named[piece.name]) if isinstance(piece, _File) else piece
        for piece in found
    ]


def shown(source: str) -> str:
    """A source as it may be shown: a URL without password and query string, which can hold a secret."""
    if "://" not in source:
        return source
    url = urlsplit(source)
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"


@dataclass(frozen=True)
class _File:
    """A file to be read by its ending, wherever it lies."""

    source: str  # as named in params, or as found by its glob: the key under data.sha256
    split: str | None
    open: Callable[[], IO[bytes]]
    sha256: str | None

    @property
    def path(self) -> str:
        """The source as it may be shown."""
        return shown(self.source)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name


def _pieces(source: str, split: str | None, params: TextParams) -> list[_File | Part]:
    scheme = source.partition("://")[0] if "://" in source else ""
    if source == "generated":
        from plumbline.tasks.text_classification.data import generated

        return [generated.part(params)]
    if scheme == "hf":
        from plumbline.tasks.text_classification.data import hub

        return [*hub.parts(source)]
    if scheme.split("+")[0] in SQL:
        from plumbline.tasks.text_classification.data import queries

        return [queries.part(source, split)]
    if scheme in ("http", "https"):
        return [_downloaded(source, split, params)]
    if scheme and scheme != "file":
        return [*_remote(source, split)]
    return [*_local(str(local_path(source)), split)]


def _local(pattern: str, split: str | None) -> list[_File]:
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207 - unlike Path.glob it takes an absolute pattern
    paths = sorted(path for path in found if Path(path).is_file())
    if not paths and Path(pattern).is_file():  # a name that holds [ or ? itself
        paths = [pattern]
    if not paths:
        raise DataError(_not_found(pattern))
    return [_file(Path(path), path, split) for path in paths]


def _file(path: Path, source: str, split: str | None) -> _File:
    try:
        return _File(source, split, lambda: path.open("rb"), layout.digest(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def _not_found(pattern: str) -> str:
    path = Path(pattern)
    if path.is_dir():
        return f"{pattern}: a folder; name the files in it, such as {pattern}/*.csv"
    beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = (
        nearest(path.name, beside)
        or f"; {path.parent} holds {', '.join(sorted(beside)[:8]) or 'nothing'}"
    )
    return f"{pattern}: no such file{hint}"


def _downloaded(url: str, split: str | None, params: TextParams) -> _File:
    from plumbline.tasks.text_classification.data import remote

    sha256 = params.data.sha256.get(url)
    return _file(remote.fetch(url, shown(url), sha256), url, split)


def _remote(url: str, split: str | None) -> list[_File]:
    """The files that an fsspec URL or pattern names, with a digest where one is pinned (they are read only once)."""
    import fsspec

    try:
        files = fsspec.open_files(url, "rb")
        found = [file for file in files if file.fs.exists(file.path)]
    except (ValueError, ImportError) as error:
        raise ParamsError(f"data.source: {shown(url)}: {error}") from None
    except OSError as error:
        raise DataError(f"{shown(url)}: cannot be read ({error})") from None
    if not found:
        raise DataError(f"{shown(url)}: no such file")
    if glob.has_magic(url):
        return [_File(file.full_name, split, file.open, None) for file in found]
    return [_File(url, split, found[0].open, None)]


def _check_pins(pins: Mapping[str, str], files: list[_File]) -> None:
    for source in pins:
        if source not in (sources := [file.source for file in files]):
            raise ParamsError(
                f"data.sha256: {shown(source)}: not a file of data.source{nearest(source, sources)}"
            )
    for file in files:
        expected = pins.get(file.source)
        if expected is not None and (found := file.sha256 or _digest(file)) != expected:
            raise DataError(f"{file.path}: has SHA-256 {found}, but data.sha256 pins {expected}")


def _digest(file: _File) -> str:
    with file.open() as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()  # type: ignore[arg-type]


def _part(file: _File, num_named: int) -> Part:
    """A file under its own name, or its whole path where others share that name."""
    name = file.name if num_named == 1 else file.path
    formats.check(name)
    return Part(
        name, file.split, partial(_rows, file, name), {"name": file.path, "sha256": file.sha256}
    )


def _rows(file: _File, name: str, reading: Reading) -> Iterator[Row]:
    try:
        opened = file.open()
    except OSError as error:
        raise DataError(f"{file.path}: cannot be read ({error})") from None
    yield from formats.read(opened, name, reading)
