"""Open SQLite files that exist: to read them also after their writer was killed."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from plumbline.registry.reader.stores import TIMEOUT_S


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
