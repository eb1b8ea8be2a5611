"""A local registry and its journal as one file, to carry it to another machine."""

import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from plumbline.contract.errors import JournalError, RegistryError
from plumbline.process.files import extract_file, publish, write_aside
from plumbline.registry import journal
from plumbline.registry.reader.addresses import describe_registry
from plumbline.tracking import delivery, store_location

STORE, JOURNAL, ARTIFACTS = "mlflow.db", "journal.db", "artifacts"


def pack(target: Path) -> int:
    """Write registry, journal and artifacts to the tar file `target`; return the number of files.

    Nobody decides or logs meanwhile, and it holds what waits for MLflow. Raises RegistryError
    where the registry is not a local one, or there is none.
    """
    folder = _find_folder()
    if not (folder / STORE).is_file():
        raise RegistryError(f"{folder}: there is no registry to pack; `make run` makes one")
    if store_location.locate_database(journal.find_journal_uri()).resolve() != folder / JOURNAL:
        raise RegistryError(
            f"the journal is not {folder / JOURNAL}; only a registry with its own journal is packed"
        )
    delivery.deliver()
    with (
        journal.lock_journal(),
        delivery.lock_delivery(),
        tempfile.TemporaryDirectory(prefix="plumbline-") as private,
    ):
        databases = {
            name: _copy_database(folder / name, Path(private) / name)
            for name in (JOURNAL, STORE)
            if (folder / name).is_file()
        }
        # Files are listed after the databases: what those name exists. The store is written last:
        # an archive that was cut off has none.
        files = dict(sorted(_list_artifacts(folder))) | databases
        with write_aside(target) as aside, tarfile.open(aside, "w") as archive:
            for name, path in files.items():
                archive.add(path, name, recursive=False)
    return len(files)


def unpack(source: Path) -> int:
    """Make the registry in `source` this machine's; return the number of files.

    Bundles, evidence and journal are verified where they are used. Raises RegistryError where there
    is a registry, a journal or bundles already, or `source` is cut off or holds anything else.
    """
    folder = _find_folder()
    for path in (folder / STORE, folder / JOURNAL, folder / ARTIFACTS):
        is_empty = path.is_dir() and not any(path.iterdir())
        if path.exists() and not is_empty:
            raise RegistryError(
                f"{path} is there already; a registry is unpacked where there is none: "
                "move it away first"
            )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpack-") as private:
        aside = Path(private)
        with _explain_failures(source):
            num_files = _extract(source, aside)
            for former in store_location.list_folders(aside / STORE, folder.name):
                store_location.replace_locations(aside / STORE, former, folder)
        for name in (ARTIFACTS, JOURNAL, STORE):  # the store last: without it there is no registry
            if (aside / name).exists():
                publish(aside / name, folder / name)
    return num_files


def _find_folder() -> Path:
    store = store_location.find_uri()
    if not store.startswith("sqlite:///"):
        raise RegistryError(
            f"the registry is at {describe_registry()}; "
            "only a registry in a local SQLite file can be packed; a shared server needs no copy"
        )
    return store_location.locate_database(store).resolve().parent


def _list_artifacts(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in (folder / ARTIFACTS).rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path


def _copy_database(database: Path, target: Path) -> Path:
    """Copy a whole database, even while another process writes to it."""
    with closing(sqlite3.connect(database)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
    return target


def _extract(source: Path, folder: Path) -> int:
    """Extract a registry to `folder`, and nothing else; return the number of its files."""
    num_files = 0
    with tarfile.open(source, "r:") as archive:
        while (member := archive.next()) is not None:
            is_part = member.name in (STORE, JOURNAL) or member.name.startswith(f"{ARTIFACTS}/")
            if not is_part or not member.isreg() or member.issparse():
                raise ValueError(f"{member.name!r} does not belong to a registry")
            extract_file(archive, member, folder)
            num_files += 1
    if not (folder / STORE).is_file():
        raise ValueError(f"{STORE} is missing")
    return num_files


@contextmanager
def _explain_failures(source: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, tarfile.TarError, ValueError, sqlite3.Error, JournalError) as error:
        raise RegistryError(
            f"{source}: not a registry that `plumbline registry pack` wrote ({error}); "
            "nothing was unpacked"
        ) from None
