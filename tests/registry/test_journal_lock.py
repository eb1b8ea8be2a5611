"""Who waits for the journal says for whom; a registry whose writer was killed is read as before."""

import logging
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from plumbline.contract.errors import JournalError
from plumbline.registry import journal, journal_lock, local_files
from plumbline.registry.reader.addresses import VersionAddress
from plumbline.registry.reader.database import DatabaseStore

HOLDER = """
import sys
from pathlib import Path
from plumbline.registry import journal_lock
with journal_lock.hold_file_lock(Path("mlruns/journal.db.lock")):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the journal of the current folder."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_a_lock_that_is_never_released_is_an_error_that_names_its_holder(
    holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(journal_lock, "NOTICE_S", 0.0)
    monkeypatch.setattr(journal_lock, "TIMEOUT_S", 0.2)
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(JournalError, match=rf"held by pid {holder.pid} on .*, since 2.* UTC"),
        journal.lock_journal(),
    ):
        pass
    assert len(caplog.records) == 1
    assert f"held by pid {holder.pid}" in caplog.records[0].message


def test_the_lock_of_a_killed_process_is_free(holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    with journal.lock_journal() as book:
        assert book.read_entries() == []


CREATE = "CREATE TABLE registered_model_tags (name TEXT, workspace TEXT, key TEXT, value TEXT)"
# With a cache of one page, SQLite writes to the file before the transaction ends.
WRITER = """
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
    done = subprocess.run([sys.executable, "-c", WRITER, str(path)], check=False)
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
