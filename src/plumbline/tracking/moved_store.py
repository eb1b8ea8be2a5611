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

    Otherwise a copy would read and write the files of the original.
    """
    database = store_location.find_home() / store_location.DATABASE
    with suppress(sqlite3.Error):
        for before in find_former_folders():
            replace_locations(database, before, database.parent)


def find_former_folders() -> set[Path]:
    """Find the folders where the tables look for the files that are beside the database now.

    None of other registries than the checkout's own, and of one that cannot be read.
    """
    database = store_location.find_home() / store_location.DATABASE
    uri, folder = store_location.find_uri(), database.parent
    is_own = Path(uri.removeprefix("sqlite:///")).resolve() == database.resolve()
    if not is_own or not database.exists() or not (folder / ARTIFACTS).is_dir():
        return set()
    try:
        return _list_folders(database) - {folder}
    except sqlite3.Error:
        return set()


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


def _list_folders(database: Path) -> set[Path]:
    """List where this registry was when plumbline created its experiments."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT artifact_location FROM experiments").fetchall()
    folders = {Path(unquote(urlsplit(str(location)).path)) for (location,) in rows}
    return {path.parent for path in folders if path.parts[-2:] == (database.parent.name, ARTIFACTS)}
