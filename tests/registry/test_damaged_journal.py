"""A journal with a flipped bit, on whatever page, is an error in one line."""

import sqlite3
from pathlib import Path

import pytest

from plumbline.contract.errors import JournalIntegrityError
from plumbline.registry import journal
from plumbline.registry.journal import Decision


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE plumbline_journal SET reason = x'a862'",
        "UPDATE plumbline_journal SET reason = CAST(x'a862' AS TEXT)",
        "ALTER TABLE plumbline_journal RENAME reason TO season",
    ],
)
def test_what_is_not_text_or_not_there_is_damage(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with journal.lock_journal() as book:
        book.append(Decision("line", "keep", "", "", "b", "e", "a reason"))
    with sqlite3.connect("mlruns/journal.db") as connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(JournalIntegrityError, match="journal"), journal.read_journal() as book:
        book.read_entries()
