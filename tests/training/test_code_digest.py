"""Which code decides what a training ends in, and what is said of how it ended."""

from pathlib import Path

import pytest
from tests.support.own_tasks import forget_own_tasks

from plumbline.training.checkpoint import TrainingState
from plumbline.training.code_digest import list_code
from plumbline.training.fitting import describe_end


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


@pytest.mark.parametrize(
    ("epoch", "best_epoch", "end"),
    [
        (4, 4, ""),
        (4, 3, "; keeps epoch 3"),
        (3, 1, "; stopped early, as the loss on validation no longer fell; keeps epoch 1"),
    ],
)
def test_the_end_says_early_stopping_and_which_epoch_is_kept(
    epoch: int, best_epoch: int, end: str
) -> None:
    history = [{"epoch": float(number), "train/loss": 0.5} for number in range(1, epoch + 1)]
    state = TrainingState(epoch=epoch, best_epoch=best_epoch, history=history)
    said = describe_end(state, 4, "20/s, 7 s")
    assert said == f"epoch {epoch}/4  train/loss 0.5000  20/s, 7 s{end}"
