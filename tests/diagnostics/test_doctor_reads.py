"""Whoever looks at registry and journal waits for nobody, and changes nothing."""

import shutil
from pathlib import Path

import pytest

from plumbline.diagnostics.doctor.registry import check_registry
from plumbline.registry import journal, journal_lock
from plumbline.registry.journal import Decision

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


@pytest.fixture
def mlruns(mlflow_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty registry in a folder that is the cwd, and a lock that nobody waits for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(journal_lock, "TIMEOUT_S", 0.1)
    (tmp_path / "mlruns").mkdir()
    shutil.copy(mlflow_database, tmp_path / "mlruns/mlflow.db")
    return tmp_path / "mlruns"


def read_journal_result() -> str:
    (found,) = [result for result in check_registry(full=False) if result.what == "journal"]
    return found.message


def test_a_decision_that_is_being_made_holds_up_no_look(mlruns: Path) -> None:
    with journal.lock_journal() as book:
        book.append(Decision("line", "keep", "", "", "b", "e", "a reason"))
        assert read_journal_result().startswith("1 entries")


def test_a_journal_without_a_table_is_left_so(mlruns: Path) -> None:
    """As a kill leaves it, or a database on a server before the first decision."""
    (mlruns / "journal.db").touch()
    assert read_journal_result().startswith("0 entries")
    assert (mlruns / "journal.db").read_bytes() == b""
    assert not (mlruns / "journal.db.lock").exists()
