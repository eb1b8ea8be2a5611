"""The checkout's own registry after a move or a copy: MLflow's tables hold absolute paths."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from plumbline.tracking import store_location

ARTIFACTS = "artifacts"  # beside the database
LOCATIONS = {
    "runs": "artifact_uri",
    "logged_models": "artifact_location",
    "experiments": "artifact_location",
    "model_versions": "storage_location",
}


def follow_move() -> None:
    """Let the tables name the files beside the database, if those were elsewhere before.

    Otherwise a copy would read and write the files of the original. Other registries than the
    checkout's own, and one that cannot be read, are left alone.
    """
    database = store_location.find_home() / store_location.DATABASE
    folder = database.parent
    uri = store_location.find_uri()
    is_own = Path(uri.removeprefix("sqlite:///")).resolve() == database.resolve()
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
