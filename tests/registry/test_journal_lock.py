"""Who waits for the journal says for whom, and not for ever."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline.contract.errors import JournalError
from plumbline.registry import journal, journal_lock

CODE = """
import sys
from pathlib import Path
from plumbline.registry import journal_lock
with journal_lock.hold_file_lock(Path("mlruns/journal.db.lock")):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the journal of the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with subprocess.Popen(
        [sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
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
