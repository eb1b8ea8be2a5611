"""The control is the candidate itself, trained by the same code on answers that say nothing."""

from pathlib import Path

import numpy as np
import pytest
from tests.support.example_rows import read_rows
from tests.support.small_texts import NUM_ROWS, WORDS, small_params, write_examples

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import RejectedError
from plumbline.contract.loading import load_task
from plumbline.contract.task import Task
from plumbline.process.files import digest_path, write_json
from plumbline.stages.control import control
from plumbline.stages.train import train
from plumbline.tasks.text_classification.data import shuffle_labels


@pytest.fixture
def task(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlruns/mlflow.db")
    write_examples(layout.EXAMPLES)
    layout.MANIFEST.write_bytes(b"rows")
    layout.SOURCE.write_text("{}", encoding="utf-8")
    digests = {"manifest": digest_path(layout.MANIFEST), "examples": digest_path(layout.EXAMPLES)}
    write_json(layout.VALIDATION, {"accepted": True, **digests})
    return load_task("text_classification")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_knows_nothing_and_touches_nothing_of_the_candidate(task: Task) -> None:
    params = small_params()
    train(params, task, "linear")
    real, before = (
        bundle.load(layout.locate_bundle("linear")),
        digest_path(layout.locate_bundle("linear")),
    )
    control(params, task, "linear")
    shuffled = bundle.load(layout.locate_bundle(layout.name_control("linear")))
    known, unknown = (
        task.scoring.score(layout.EXAMPLES, "test", one).metrics["accuracy"]
        for one in (real, shuffled)
    )
    assert known > 0.8 > 0.6 > unknown
    assert digest_path(layout.locate_bundle("linear")) == before
    assert (layout.TRAINING / "control.linear.csv").exists()
    assert not list(Path(".plumbline").glob("control-*"))


def test_rejected_data_trains_no_control_either(task: Task) -> None:
    write_json(layout.VALIDATION, {"accepted": False, "manifest": ""})
    with pytest.raises(RejectedError):
        control(small_params(), task, "linear")


def test_permuted_labels_are_those_labels_on_other_texts(task: Task, tmp_path: Path) -> None:
    target = tmp_path / "shuffled"
    target.mkdir()
    shuffle_labels(layout.EXAMPLES, target, seed=1, max_rows=10_000)
    for split in ("train", "validation"):
        old, new = (read_rows(folder, split) for folder in (layout.EXAMPLES, target))
        assert sorted(old["label"]) == sorted(new["label"])
        assert sorted(old["text"]) == sorted(new["text"])
        agree = np.mean(
            old.set_index("id")["label"].loc[new["id"]].to_numpy() == new["label"].to_numpy()
        )
        assert agree < 1.5 / len(WORDS)


def test_few_rows_keep_validation_within_the_classes_of_train(task: Task, tmp_path: Path) -> None:
    target = tmp_path / "shuffled"
    target.mkdir()
    shuffle_labels(layout.EXAMPLES, target, seed=1, max_rows=2)
    train_rows, validation = (read_rows(target, split) for split in ("train", "validation"))
    assert len(train_rows) == 2 < NUM_ROWS["train"]
    assert set(validation["label"]) <= set(train_rows["label"])
