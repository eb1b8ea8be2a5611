"""What SQLite files of this checkout say of models, read without MLflow, in milliseconds.

A registry is lost when its database is deleted or replaced: MLflow makes an empty one in its place,
and the journal still says that versions were registered.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from plumbline.contract.errors import RegistryError
from plumbline.registry import journal
from plumbline.registry.reader.addresses import describe_registry
from plumbline.registry.reader.sqlite_files import open_to_read
from plumbline.tracking import store_location

REMEDY = (
    "restore it from a backup (if it was packed: move mlflow.db, journal.db and artifacts away, "
    "then `plumbline registry unpack FILE`); "
    "to start with an empty one, move the journal away as well"
)
SQLITE = "sqlite:///"


def require_model(name: str, last: str | None, *, is_known: bool) -> None:
    """Raise RegistryError where the journal names a version (the `last`) of an unknown model."""
    if last and not is_known:
        raise RegistryError(f"{describe_loss(name, last)}; {REMEDY}")


def describe_loss(name: str, last: str) -> str:
    """Say what the journal knows and the registry does not."""
    return (
        f"{name}: the journal says that version {last} was registered, and {describe_registry()} "
        "knows no model of that name: the registry was deleted or replaced"
    )


def require_local_models() -> None:
    """Raise RegistryError where databases of this checkout show that a model was lost.

    For other stores `register` asks.
    """
    for name, last in find_local_losses().items():
        require_model(name, last, is_known=False)


def find_local_losses() -> dict[str, str]:
    """Return the models that SQLite files show to be lost, each with its last version."""
    registry, decisions = store_location.find_uri(), _find_journal()
    if not registry.startswith(SQLITE) or not decisions.startswith(SQLITE):
        return {}
    query = "SELECT model, version FROM plumbline_journal WHERE version != '' ORDER BY number"
    last = {str(name): str(version) for name, version in _ask(decisions, query)}
    known = {name for (name,) in _ask(registry, "SELECT name FROM registered_models")}
    return {name: version for name, version in last.items() if name not in known}


def is_new(name: str) -> bool:
    """Whether these files show that nobody registered or decided anything of a model."""
    registry, decisions = store_location.find_uri(), _find_journal()
    if not registry.startswith(SQLITE) or not decisions.startswith(SQLITE):
        return False
    known = _ask(registry, "SELECT name FROM registered_models")
    decided = _ask(decisions, "SELECT model FROM plumbline_journal")
    return (name,) not in [*known, *decided]


def _find_journal() -> str:
    try:
        return journal.find_journal_uri()
    except RegistryError:
        return ""


def _ask(uri: str, query: str) -> list[tuple[str, ...]]:
    """Return the rows of a query; none where there is no such database or table."""
    path = Path(uri.removeprefix(SQLITE))
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
