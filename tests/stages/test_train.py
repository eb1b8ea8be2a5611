"""train leaves a sealed bundle or the one that was there, and learns from accepted data only."""

from pathlib import Path

import pandas as pd
import pytest

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import DataError, RejectedError
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.contract.task import Task
from plumbline.stages.ingest import ingest
from plumbline.stages.train import train


@pytest.fixture
def accepted(
    line_task: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> tuple[Params, Task]:
    """Data that validation accepted, and a tracking server that is away."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    ingest(*line_task)
    layout.write_json(
        layout.VALIDATION, {"accepted": True, "manifest": layout.digest(layout.MANIFEST)}
    )
    return line_task


def test_trained_twice_it_is_the_same_bundle(accepted: tuple[Params, Task]) -> None:
    train(*accepted, "closed")
    first = bundle.digest(layout.locate_bundle("closed"))
    (answer,) = bundle.load(layout.locate_bundle("closed")).predict({"x": [1.0]})["y"]
    assert answer == pytest.approx(3, abs=0.1)
    train(*accepted, "closed")
    assert bundle.digest(layout.locate_bundle("closed")) == first


def test_a_failure_leaves_the_bundle_that_was_there(
    accepted: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    params, task = accepted
    train(params, task, "closed")
    first = bundle.digest(layout.locate_bundle("closed"))

    def full(folder: Path) -> None:
        (folder / "weights.json").write_text("{")
        raise OSError(28, "No space left on device")

    broken = Learner(save=full, solve=lambda: None)
    monkeypatch.setattr(task.models, "build_learner", lambda *_: broken)
    with pytest.raises(OSError, match="No space left"):
        train(params, task, "closed")
    assert bundle.digest(layout.locate_bundle("closed")) == first
    assert [path.name for path in layout.MODELS.iterdir()] == ["closed"]


def test_a_learner_gets_no_answers_of_the_test_split(
    accepted: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    params, task = accepted
    folders = []

    def spy(params: Params, candidate: str, examples: Path) -> Learner:
        folders.append((examples, sorted(path.name for path in examples.rglob("*"))))
        return build(params, candidate, examples)

    build = task.models.build_learner
    monkeypatch.setattr(task.models, "build_learner", spy)
    train(params, task, "closed")
    ((examples, names),) = folders
    assert names == ["train.parquet", "validation.parquet"]
    assert not examples.exists()  # it was for this one training


def test_a_test_split_that_is_not_a_file_of_its_own_is_refused(
    accepted: tuple[Params, Task],
) -> None:
    (layout.EXAMPLES / "test.parquet").rename(layout.EXAMPLES / "all.parquet")
    with pytest.raises(DataError, match=r"no file test\.\*, so another file holds the test split"):
        train(*accepted, "closed")


@pytest.mark.parametrize("change", ["rejected", "other manifest", "never validated"])
def test_only_what_was_accepted(accepted: tuple[Params, Task], change: str) -> None:
    if change == "rejected":
        layout.write_json(
            layout.VALIDATION, {"accepted": False, "manifest": layout.digest(layout.MANIFEST)}
        )
    elif change == "other manifest":
        pd.read_parquet(layout.MANIFEST).head(10).to_parquet(layout.MANIFEST, index=False)
    else:
        layout.VALIDATION.unlink()
    with pytest.raises(RejectedError, match="dvc repro validate"):
        train(*accepted, "closed")
    assert not layout.MODELS.exists()
