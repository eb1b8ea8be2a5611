"""A registry whose writer was killed in a transaction is read as it was before."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from plumbline.registry import local_files
from plumbline.registry.reader.addresses import VersionAddress
from plumbline.registry.reader.database import DatabaseStore

CREATE = "CREATE TABLE registered_model_tags (name TEXT, workspace TEXT, key TEXT, value TEXT)"
# With a cache of one page, SQLite writes to the file before the transaction ends.
CODE = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA cache_size = 1")
connection.execute("UPDATE registered_model_tags SET value = 'half written'")
for number in range(2000):
    connection.execute("INSERT INTO registered_model_tags VALUES ('x', '', '', ?)", ("y" * 500,))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A database that only who may write can open: its last writer was killed."""
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(CREATE)
        row = ("line", "default", "plumbline.head", "before")
        connection.execute("INSERT INTO registered_model_tags VALUES (?, ?, ?, ?)", row)
    done = subprocess.run([sys.executable, "-c", CODE, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert Path(f"{path}-journal").stat().st_size > 0
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        reader.execute("SELECT * FROM registered_model_tags")
    return path


def test_a_version_is_found_as_it_was_before(cut: Path) -> None:
    store = DatabaseStore(f"sqlite:///{cut}")
    address = VersionAddress("line", "1", None)
    assert store.read_model_tag(address, "plumbline.head") == "before"


def test_a_run_begins(cut: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{cut}")
    monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", f"sqlite:///{cut}")
    local_files.require_local_models()
