"""Processes that share the weights of an encoder end in what others end in, with less memory."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.checkouts import find_python
from tests.support.shared_training import CASES, ENCODERS
from tests.support.small_texts import ROOT, SilentLog, small_params, write_examples
from tests.support.tiny_models import write_model

from plumbline.contract.errors import ParamsError
from plumbline.tasks.text_classification.models import build_learner
from plumbline.training import fitting, sharding

SCRIPT = ROOT / "tests/support/shared_training.py"
ROUNDING = 1e-6  # of weights of the order of 0.1: the norm of gradients is added up in other order


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shared")
    write_examples(made / "examples")
    write_model(made / "bert", "bert")
    return made


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> list[dict[str, Any]]:
    """What each process ended in, by case; `folder` has the trainings."""
    done = train_together(folder, *CASES)
    assert done.returncode == 0, done.stderr[-2000:]
    return read_results(folder)


def train_together(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Let two processes of torchrun run the script of this test."""
    launcher = [find_python(), "-m", "torch.distributed.run", "--standalone"]
    paths = f"{ROOT}{os.pathsep}{ROOT / 'src'}"
    return subprocess.run(
        [*launcher, "--nproc-per-node", "2", SCRIPT, folder, *arguments],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Read what each process ended in, by case."""
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.slow
def test_shared_weights_end_as_others_with_half_of_them_in_each_process(
    folder: Path, undisturbed: list[dict[str, Any]]
) -> None:
    first, second = undisturbed
    for case in CASES:
        plain, shared = first[case]["ddp"], first[case]["shared"]
        assert shared["steps"] == plain["steps"] == 21, case
        halves = [each[case]["shared"]["held"] for each in (first, second)]
        assert max(halves) < 0.52 * plain["held"], case
        if case == "clipped":
            assert find_largest_difference(folder, case) < ROUNDING
            continue
        assert shared["weights"] == plain["weights"], case
        assert shared["curve"] == plain["curve"], case
        assert shared["bundle"] == plain["bundle"], case


@pytest.mark.slow
def test_each_encoder_that_can_be_fine_tuned_can_be_shared(folder: Path) -> None:
    others = [kind for kind in ENCODERS if kind not in CASES]
    for kind in others:
        write_model(folder / kind, kind)
    done = train_together(folder, *others, "--no-bundle")
    assert done.returncode == 0, done.stderr[-2000:]
    results = read_results(folder)[0]
    for kind in others:
        assert results[kind]["shared"]["weights"] == results[kind]["ddp"]["weights"], kind
        assert results[kind]["shared"]["held"] < 0.52 * results[kind]["ddp"]["held"], kind


def find_largest_difference(folder: Path, case: str) -> float:
    plain, shared = (torch.load(folder / f"{case}-{way}/weights.pt") for way in ("ddp", "shared"))
    assert plain.keys() == shared.keys()
    return max(float((plain[name] - shared[name]).abs().max()) for name in plain)


@pytest.mark.slow
def test_a_killed_training_resumes_with_shared_weights(
    folder: Path, undisturbed: list[dict[str, Any]]
) -> None:
    for case in ("clipped", "bert"):
        shutil.rmtree(folder / f"{case}-shared")
        killed = train_together(folder, case, "--only-shared", "--kill", "1", "11")
        assert killed.returncode != 0
        assert "another process of this training has ended" in killed.stderr
        done = train_together(folder, case, "--only-shared")
        assert done.returncode == 0, done.stderr[-2000:]
        resumed, expected = (
            each[case]["shared"] for each in (read_results(folder)[0], undisturbed[0])
        )
        assert resumed["steps"] == 21 - 9  # of which the last was saved
        for result in ("weights", "curve", "bundle"):
            assert resumed[result] == expected[result], (case, result)


@pytest.mark.slow
def test_an_error_in_a_shared_model_is_told_as_it_is(folder: Path) -> None:
    shutil.rmtree(folder / "transformer-shared", ignore_errors=True)
    done = train_together(folder, "transformer", "--only-shared", "--break", "5")
    assert done.returncode != 0
    assert "ValueError: planted in the model" in done.stderr
    assert "During handling" not in done.stderr


def test_one_process_trains_as_without_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_examples(tmp_path / "examples")
    weights = []
    for fsdp in (False, True):
        own = tmp_path / f"fsdp-{fsdp}"
        own.mkdir()
        monkeypatch.chdir(own)
        params = small_params(fsdp=fsdp)
        learner = build_learner(params, "transformer", tmp_path / "examples")
        assert bool(learner.blocks) == fsdp
        fitting.fit(learner, params, "transformer", SilentLog())
        weights.append(learner.module.state_dict())
    for name, tensor in weights[0].items():
        assert torch.equal(weights[1][name], tensor), name


def test_a_device_that_cannot_shard_module_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_examples(tmp_path / "examples")
    learner = build_learner(small_params(fsdp=True), "transformer", tmp_path / "examples")
    with pytest.raises(ParamsError, match=r"cannot share weights .* set it to cpu"):
        sharding.shard_module(learner, "mps")
