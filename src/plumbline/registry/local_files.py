"""SQLite files of this checkout: registry and journal, read without MLflow, in milliseconds.

A registry is lost when its database is deleted or replaced: MLflow makes an empty one in its place,
and the journal still says that versions were registered.
"""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from plumbline.contract.errors import RegistryError
from plumbline.registry import journal
from plumbline.registry.reader.addresses import describe_registry
from plumbline.registry.reader.stores import TIMEOUT_S
from plumbline.tracking import store_location

REMEDY = (
    "restore it from a backup (if it was packed: move mlflow.db, journal.db and artifacts away, "
    "then `plumbline registry unpack FILE`); "
    "to start with an empty one, move the journal away as well"
)
SQLITE = "sqlite:///"


def build_loss_error(name: str, last: str) -> RegistryError:
    """Build the error for a model of which the journal alone knows; `last` is its last version."""
    return RegistryError(
        f"{name}: the journal says that version {last} was registered, and {describe_registry()} "
        f"knows no model of that name: the registry was deleted or replaced; {REMEDY}"
    )


def require_local_models() -> None:
    """Raise RegistryError where these files show that a model was lost.

    For other stores `register` asks.
    """
    known, decided = _read_models()
    for name, version in decided:
        if version and (name,) not in known:
            raise build_loss_error(name, version)


def is_new(name: str) -> bool:
    """Whether these files show that nobody registered or decided anything of a model."""
    known, decided = _read_models()
    return _is_local() and (name,) not in known and name not in dict(decided)


def _read_models() -> tuple[list[tuple[str]], list[tuple[str, str]]]:
    """Read the registry's models, and model and version of each decision; none from elsewhere."""
    if not _is_local():
        return [], []
    known = _ask(store_location.find_uri(), "SELECT name FROM registered_models")
    query = "SELECT model, version FROM plumbline_journal ORDER BY number"
    return known, _ask(journal.find_journal_uri(), query)


def _is_local() -> bool:
    is_file = store_location.find_uri().startswith(SQLITE)
    return is_file and journal.find_journal_uri().startswith(SQLITE)


def _ask(uri: str, query: str) -> list[Any]:
    """Return the rows of a query; none where there is no such database or table."""
    path = store_location.locate_database(uri)
    if not path.exists():
        return []
    try:
        with closing(open_to_read(path)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise RegistryError(f"{path} cannot be read ({error})") from None
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter: of its definitions
        raise RegistryError(f"{path} cannot be read ({error}); {REMEDY}") from None


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a file to read it; sqlite3.OperationalError where there is none.

    A transaction that a killed process left unfinished is rolled back first. Only a connection that
    may write can do so; it leaves alone what a live process is writing. One that only reads fails.
    """
    if path.with_name(f"{path.name}-journal").exists():
        with suppress(sqlite3.Error), closing(_open(path, "rw")) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    return _open(path, "ro")


def _open(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.resolve()))}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=TIMEOUT_S)
