"""A local registry and its journal as one file: packed on one machine, verified and unpacked on another."""

import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from plumbline.bundle import strict
from plumbline.contract import layout
from plumbline.contract.errors import JournalError, RegistryError
from plumbline.registry import journal
from plumbline.tracking import mlflow_runs

FORMAT = 1
CONTENTS = "contents.json"
STORE, JOURNAL, ARTIFACTS = "mlflow.db", "journal.db", "artifacts"
LOCATIONS = {  # where MLflow's tables name a file by its path on the machine
    "runs": "artifact_uri",
    "logged_models": "artifact_location",
    "experiments": "artifact_location",
    "model_versions": "storage_location",
}
MAX_CONTENTS = 64 << 20  # bytes


def pack(target: Path) -> int:
    """Write registry, journal and artifacts to `target`, a tar file, while nobody decides; the number of files.

    Raises RegistryError where the registry is not a local one, or there is none.
    """
    folder = _folder()
    if not (folder / STORE).is_file():
        raise RegistryError(f"{folder}: there is no registry to pack; `make run` makes one")
    if Path(journal.uri().removeprefix("sqlite:///")).resolve() != folder / JOURNAL:
        raise RegistryError(
            f"the journal is not {folder / JOURNAL}; only a registry with its own journal is packed"
        )
    with journal.opened(), tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        names = [name for name in (STORE, JOURNAL) if (folder / name).is_file()]
        files = {name: _copied(folder / name, Path(private) / name) for name in names}
        files |= dict(_artifacts(folder))  # after the databases: what they name is there
        contents = {"format": FORMAT, "folder": str(folder)}
        contents["files"] = {name: layout.digest(path) for name, path in sorted(files.items())}
        layout.write_json(Path(private) / CONTENTS, contents)
        with layout.written(target) as aside, tarfile.open(aside, "w") as archive:
            for name, path in [(CONTENTS, Path(private) / CONTENTS), *sorted(files.items())]:
                archive.add(path, name, recursive=False, filter=_plain)
    return len(files)


def unpack(source: Path) -> int:
    """Make the registry in `source` this machine's, once every file of it is what was packed; the number of files.

    Raises RegistryError where there is a registry already, or the file is damaged, was changed or holds anything else.
    """
    folder = _folder()
    for name in (STORE, JOURNAL):
        if (folder / name).exists():
            raise RegistryError(
                f"{folder / name} is there already; a registry is unpacked where there is none"
            )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpack-") as private:
        aside = Path(private)
        with _explained(source):
            contents = _extracted(source, aside)
            _moved(aside / STORE, Path(contents["folder"]), folder)
            _check_journal(aside / JOURNAL)
        for name in (ARTIFACTS, JOURNAL, STORE):  # the store last: without it there is no registry
            if (aside / name).exists():
                layout.publish(aside / name, folder / name)
    return len(contents["files"])


def _folder() -> Path:
    store = mlflow_runs.uri()
    if not store.startswith("sqlite:///"):
        raise RegistryError(
            f"the registry is at {store}; only a local one is packed: others share theirs as it is"
        )
    return Path(store.removeprefix("sqlite:///")).resolve().parent


def _artifacts(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in (folder / ARTIFACTS).rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path


def _copied(database: Path, target: Path) -> Path:
    """A whole copy of a database, whoever writes to it meanwhile."""
    with closing(sqlite3.connect(database)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
    return target


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the packer's name, clock and rights."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime, member.mode = 0, 0o644
    return member


def _extracted(source: Path, folder: Path) -> dict[str, Any]:
    """What the archive says it holds, once it is in `folder` and is just that."""
    with tarfile.open(source, "r:") as archive:
        first = archive.next()
        if (
            first is None
            or first.name != CONTENTS
            or not first.isreg()
            or first.size > MAX_CONTENTS
        ):
            raise ValueError(f"it does not begin with {CONTENTS}")
        found = archive.extractfile(first)
        contents: dict[str, Any] = strict.loads(found.read() if found else b"")
        if contents["format"] != FORMAT:
            raise ValueError(f"format {contents['format']!r}, this version reads {FORMAT}")
        left: dict[str, str] = dict(contents["files"])
        while (member := archive.next()) is not None:
            if not member.isreg() or member.issparse() or member.name not in left:
                raise ValueError(f"{member.name!r} is not among its contents")
            archive.extract(member, folder, filter="data")
            if layout.digest(folder / member.name) != left.pop(member.name):
                raise ValueError(f"{member.name} was changed")
        if left or not (folder / STORE).is_file():
            raise ValueError(f"{next(iter(left), STORE)} is missing")
    return contents


def _moved(store: Path, old: Path, new: Path) -> None:
    """Let the tables name files in `new` that they named in `old`."""
    with closing(sqlite3.connect(store)) as connection, connection:
        for table, column in LOCATIONS.items():
            for before, after in ((f"{old.as_uri()}/", f"{new.as_uri()}/"), (f"{old}/", f"{new}/")):
                connection.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE substr({column}, 1, ?) = ?",  # noqa: S608
                    (after, len(before) + 1, len(before), before),
                )


def _check_journal(path: Path) -> None:
    if not path.exists():
        return
    with journal.seen(f"sqlite:///{path}") as book:
        if position := journal.broken(book.unchecked()):
            raise ValueError(f"entry {position} of its journal is not what was written")


@contextmanager
def _explained(source: Path) -> Iterator[None]:
    try:
        yield
    except (
        OSError,
        tarfile.TarError,
        ValueError,
        KeyError,
        TypeError,
        sqlite3.Error,
        JournalError,
    ) as error:
        raise RegistryError(
            f"{source}: no registry that was packed here ({error}); nothing was unpacked"
        ) from None
