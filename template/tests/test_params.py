"""params.yaml is valid, and fits the data and dvc.yaml."""

import subprocess
from pathlib import Path

from plumbline.contract.loading import load_params, load_task
from plumbline.contract.params import Params


def read_params() -> Params:
    return load_params(Path("params.yaml"))


def test_params_are_valid_and_name_a_task() -> None:
    params = read_params()
    assert load_task(params.task).name == params.task


def test_every_candidate_has_a_stage() -> None:
    done = subprocess.run(
        ["dvc", "stage", "list", "--name-only"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {f"train@{name}" for name in read_params().candidates} <= set(done.stdout.split())


def test_plumbline_is_the_locked_one() -> None:
    (wheel,) = Path("wheels").glob("plumbline-*.whl")
    assert Path("requirements.lock").read_text().count(f"./{wheel} --hash=sha256:") == 1
