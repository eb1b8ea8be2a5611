"""Which code decides what a training ends in: a change there continues no training of before."""

from pathlib import Path

import pytest
from tests.support.own_tasks import forget_own_tasks

from plumbline.training.code_digest import list_code


def test_code_is_that_of_the_task_and_of_what_it_trains_with() -> None:
    names = {"/".join(path.parts[-2:]) for path in list_code("text_classification")}
    assert {"contract/learning_rate.py", "tables/split_files.py", "training/loop.py"} <= names
    assert {"text_classification/task.py", "models/linear.py"} <= names
    assert not any(name.startswith(("stages/", "signal_extraction/")) for name in names)


def test_code_of_an_own_task_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_own_tasks(monkeypatch)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "src/tasks/tripling"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "task.py").touch()
    (folder / "grid.yaml").touch()
    (folder.parent / "helpers.py").touch()
    listed = list_code("tripling")
    assert {folder / "task.py", folder / "grid.yaml", folder.parent / "helpers.py"} <= set(listed)
