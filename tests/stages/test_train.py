"""train leaves a sealed bundle or the one that was there, and learns from accepted data only."""

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import DataError, RejectedError
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.contract.task import Task
from plumbline.contract.trainings import locate_hardware
from plumbline.process.files import digest_path, read_json, write_json
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
    report_accepted()
    return line_task


def report_accepted(*, accepted: bool = True) -> None:
    """Write what validate would say of the data that are here."""
    digests = {"manifest": digest_path(layout.MANIFEST), "examples": digest_path(layout.EXAMPLES)}
    write_json(layout.VALIDATION, {"accepted": accepted, **digests})


def test_with_what_a_candidate_was_trained_is_no_part_of_its_bundle(
    accepted: tuple[Params, Task],
) -> None:
    digests = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        train(*accepted, "closed")
        facts = read_json(locate_hardware("closed"))
        assert facts["threads"] == threads
        assert facts["instruction_set"] == torch.backends.cpu.get_cpu_capability()
        assert facts["cpu"]
        assert (facts["device"], facts["precision"], facts["processes"]) == ("cpu", None, 1)
        digests.append(bundle.digest(layout.locate_bundle("closed")))
    torch.set_num_threads(before)
    assert digests[0] == digests[1]
    (answer,) = bundle.load(layout.locate_bundle("closed")).predict({"x": [1.0]})["y"]
    assert answer == pytest.approx(3, abs=0.1)


def test_a_closed_form_is_published_by_the_first_process_alone(
    accepted: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    train(*accepted, "closed")
    assert not list_digests()
    monkeypatch.setenv("RANK", "0")
    train(*accepted, "closed")
    assert list(list_digests()) == ["closed"]


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
    assert sorted(path.name for path in layout.MODELS.iterdir()) == [
        "closed", "closed.hardware.json", "closed.seeds",
    ]  # fmt: skip


def add_seeds(params: Params, count: int) -> Params:
    config = params.candidates["gradient"].model_copy(update={"seeds": count})
    return params.model_copy(update={"candidates": {**params.candidates, "gradient": config}})


def list_digests() -> dict[str, str]:
    seals = sorted(layout.MODELS.rglob(bundle.SEAL))
    return {str(seal.parent.relative_to(layout.MODELS)): digest_path(seal) for seal in seals}


def test_with_seeds_each_training_is_kept_and_the_first_is_that_without(
    accepted: tuple[Params, Task],
) -> None:
    params, task = accepted
    train(params, task, "gradient")
    alone = list_digests()
    assert list(alone) == ["gradient"]
    train(add_seeds(params, 3), task, "gradient")
    digests = list_digests()
    assert list(digests) == ["gradient", "gradient.seeds/4", "gradient.seeds/5"]
    assert digests["gradient"] == alone["gradient"]
    assert len(set(digests.values())) == 3
    curves = sorted((layout.MODELS / "gradient.seeds").glob("*.csv"))
    assert [path.name for path in curves] == ["4.csv", "5.csv"]
    assert [path.name for path in layout.TRAINING.iterdir()] == ["gradient.csv"]
    facts = [read_json(locate_hardware(name)) for name in digests]
    assert [(one["device"], one["precision"]) for one in facts] == [("cpu", "fp32")] * 3
    assert {path.name for path in layout.MODELS.iterdir()} == {
        "gradient", "gradient.hardware.json", "gradient.seeds",
    }  # fmt: skip
    assert not list(layout.CHECKPOINTS.iterdir())


def test_a_kill_between_seeds_trains_none_of_them_twice(
    accepted: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    params, task = add_seeds(accepted[0], 3), accepted[1]
    train(params, task, "gradient")
    expected = list_digests()
    shutil.rmtree(layout.MODELS)
    shutil.rmtree(layout.TRAINING)
    build = task.models.build_learner

    def interrupt(params: Params, candidate: str, examples: Path) -> Learner:
        if params.seed == 5:
            raise KeyboardInterrupt
        return build(params, candidate, examples)

    monkeypatch.setattr(task.models, "build_learner", interrupt)
    with pytest.raises(KeyboardInterrupt):
        train(params, task, "gradient")
    for path in (layout.MODELS, layout.TRAINING):  # as DVC does before it runs a stage
        shutil.rmtree(path)

    def refuse_data(params: Params, candidate: str, examples: Path) -> Learner:
        learner = build(params, candidate, examples)
        return learner if params.seed == 5 else replace(learner, data=None)

    monkeypatch.setattr(task.models, "build_learner", refuse_data)
    train(params, task, "gradient")
    assert list_digests() == expected
    assert not list(layout.CHECKPOINTS.iterdir())


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
    report_accepted()
    with pytest.raises(DataError, match=r"no file test\.\*, so another file holds the test split"):
        train(*accepted, "closed")


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ("rejected", r"validate rejected data/manifest\.parquet; see reports/validation\.html"),
        ("other manifest", r"data/manifest\.parquet is not what was validated; .*repro validate"),
        ("other examples", "data/examples is not what was validated; run `dvc repro validate`"),
        ("never validated", r"reports/validation\.json is missing, .* run `dvc repro validate`"),
    ],
)
def test_only_what_was_accepted(accepted: tuple[Params, Task], change: str, remedy: str) -> None:
    if change == "rejected":
        report_accepted(accepted=False)
    elif change == "other manifest":
        pd.read_parquet(layout.MANIFEST).head(10).to_parquet(layout.MANIFEST, index=False)
    elif change == "other examples":
        path = layout.EXAMPLES / "train.parquet"
        pd.read_parquet(path).head(10).to_parquet(path, index=False)
    else:
        layout.VALIDATION.unlink()
    with pytest.raises(RejectedError, match=remedy):
        train(*accepted, "closed")
    assert not layout.MODELS.exists()


@pytest.mark.parametrize("content", [b"", b'{"a": tr', b"\xff", b"[]", b'{"checks": 3}'])
def test_a_damaged_report_of_validation_is_named(
    accepted: tuple[Params, Task], content: bytes
) -> None:
    layout.VALIDATION.write_bytes(content)
    with pytest.raises(DataError, match=r"reports/validation\.json: .*; run `dvc repro validate`"):
        train(*accepted, "closed")
