"""What a run needs, where much is wrong at once: each fault is named, with its remedy."""

import shutil
from pathlib import Path

import pytest
from tests.support.own_tasks import forget_own_tasks

from plumbline.diagnostics import doctor


@pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries
def test_one_fault_hides_no_other(
    mlflow_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    forget_own_tasks(monkeypatch)
    task = Path("src/tasks/broken")
    task.mkdir(parents=True)
    for name in ("task.py", "params.py"):
        (task / name).write_text("def (:\n", encoding="utf-8")
    Path("params.yaml").write_text("version: 1\ntask: broken\n", encoding="utf-8")
    Path("dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    Path("dvc.lock").write_bytes(b"schema: '2.0'\n\xff")
    Path("mlruns").mkdir()
    shutil.copy(mlflow_database, "mlruns/mlflow.db")
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
