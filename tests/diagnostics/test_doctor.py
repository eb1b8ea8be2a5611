"""Doctor names each fault where much is wrong at once, waits for nobody and changes nothing."""

import shutil
from pathlib import Path

import pytest
from tests.support.own_tasks import forget_own_tasks

from plumbline.diagnostics import doctor
from plumbline.diagnostics.doctor.registry import check_registry
from plumbline.registry import journal, journal_lock
from plumbline.registry.journal import Decision

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


def test_one_fault_hides_no_other(mlruns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_own_tasks(monkeypatch)
    task = Path("src/tasks/broken")
    task.mkdir(parents=True)
    for name in ("task.py", "params.py"):
        (task / name).write_text("def (:\n", encoding="utf-8")
    Path("params.yaml").write_text("version: 1\ntask: broken\n", encoding="utf-8")
    Path("dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    Path("dvc.lock").write_bytes(b"schema: '2.0'\n\xff")
    found = {result.what: result for result in doctor.examine(full=False)}
    assert list(found) == [
        "packages", "git", "params.yaml", "disk", "device", "outputs",
        "journal", "champion.json", "registry",
    ]  # fmt: skip
    assert not found["packages"].ok  # there is no lock
    assert found["params.yaml"].message.startswith("SyntaxError: ")
    assert "params.py" in found["params.yaml"].message
    assert found["outputs"].message == "dvc.lock: not UTF-8 at byte 14"
    assert found["outputs"].remedy.startswith("`git checkout dvc.lock` restores it")
    assert found["registry"].message.endswith("mlruns/mlflow.db")
    assert all(result.ok or result.remedy for result in found.values())


@pytest.fixture
def mlruns(mlflow_database: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty registry in a folder that is the cwd, and a lock that nobody waits for."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(journal_lock, "TIMEOUT_S", 0.1)
    (folder / "mlruns").mkdir()
    shutil.copy(mlflow_database, folder / "mlruns/mlflow.db")
    return folder / "mlruns"


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
