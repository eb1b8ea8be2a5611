"""Where MLflow keeps runs and versions, also after the checkout moved or was copied.

This module does not import MLflow: a server that only reads starts without it.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from plumbline.contract.errors import RegistryError
from plumbline.sources.addresses import hide_secrets

DATABASE = "mlruns/mlflow.db"
ARTIFACTS = "artifacts"  # beside the database
LOCATIONS = {
    "runs": "artifact_uri",
    "logged_models": "artifact_location",
    "experiments": "artifact_location",
    "model_versions": "storage_location",
}


def find_uri() -> str:
    """Return MLFLOW_TRACKING_URI, or the address of SQLite below mlruns/."""
    uri = os.environ.get("MLFLOW_TRACKING_URI") or name_database(find_home() / DATABASE)
    if uri == "sqlite://" or ":memory:" in uri:
        shown = hide_secrets(uri)
        raise RegistryError(f"{shown} ends with its process; plumbline reads a registry in a file")
    return uri


def name_database(path: Path) -> str:
    """Return the address of an SQLite file, from which SQLAlchemy reads this path again."""
    return "sqlite:///" + str(path).replace("%", "%25").replace("?", "%3F")


def locate_database(uri: str) -> Path:
    """Return the file of an SQLite address, as SQLAlchemy reads it."""
    return Path(unquote(uri.removeprefix("sqlite:///").partition("?")[0]))


def find_home() -> Path:
    """Return the root of the checkout.

    DVC runs queued experiments in copies of it below its .dvc/tmp/exps.
    """
    here = Path.cwd().resolve()
    for parent in here.parents:
        if parent.parts[-3:] == (".dvc", "tmp", "exps"):
            return parent.parents[2]
    return here


def is_missing(uri: str) -> bool:
    """Whether the URI is that of an SQLite database that does not exist."""
    return uri.startswith("sqlite:///") and not locate_database(uri).exists()


def follow_move() -> None:
    """Let the tables name the files beside the database, if those were elsewhere before.

    Otherwise a copy would read and write the files of the original. Other registries than the
    checkout's own, and one that cannot be read, are left alone.
    """
    database = find_home() / DATABASE
    folder = database.parent
    is_own = locate_database(find_uri()).resolve() == database.resolve()
    if not is_own or not database.exists() or not (folder / ARTIFACTS).is_dir():
        return
    with suppress(sqlite3.Error):
        for before in list_folders(database, folder.name) - {folder}:
            replace_locations(database, before, folder)


def replace_locations(store: Path, old: Path, new: Path) -> None:
    """Let the tables name files in `new` that they named in `old`."""
    prefixes = ((f"{old.as_uri()}/", f"{new.as_uri()}/"), (f"{old}/", f"{new}/"))
    with closing(sqlite3.connect(store)) as connection, connection:
        for table, column in LOCATIONS.items():
            statement = (
                f"UPDATE {table} SET {column} = ? || substr({column}, ?) "  # noqa: S608  names of LOCATIONS
                f"WHERE substr({column}, 1, ?) = ?"
            )
            for before, after in prefixes:
                connection.execute(statement, (after, len(before) + 1, len(before), before))


def list_folders(database: Path, name: str) -> set[Path]:
    """List where this registry was, in folders of this name, when it created its experiments."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT artifact_location FROM experiments").fetchall()
    folders = {Path(unquote(urlsplit(str(location)).path)) for (location,) in rows}
    return {path.parent for path in folders if path.parts[-2:] == (name, ARTIFACTS)}
