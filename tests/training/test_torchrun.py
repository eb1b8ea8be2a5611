"""A stage that torchrun starts trains one model, and writes each output once."""

import sys

import pytest
from tests.support.checkouts import Checkout

from plumbline.contract import layout, trainings

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.mark.slow
def test_a_stage_of_two_processes_writes_once(line: Checkout) -> None:
    """dvc.yaml names torchrun, as docs/how-to/training-on-many-machines.md says."""
    line.replace(
        "dvc.yaml",
        "cmd: python -P pipelines/train.py ${key}",
        f"cmd: {' '.join(TORCHRUN)} pipelines/train.py ${{key}}",
    )
    line.environment |= {"OMP_NUM_THREADS": "1"}
    done = line.run("plumbline", "run")
    assert done.stdout.count("gradient: epoch 4/4") == 1
    for candidate in ("gradient", "closed"):
        assert (line.path / layout.locate_bundle(candidate) / "bundle.json").exists()
    curve = (line.path / trainings.locate_curve("gradient")).read_text(encoding="utf-8")
    assert [row.split(",")[0] for row in curve.splitlines()] == ["epoch", "1", "2", "3", "4"]
    assert line.run("plumbline", "run").stdout.startswith("unchanged: ")
