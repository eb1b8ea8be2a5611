"""The processes that train together are started, stopped and explained by the stage itself."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.support.checkouts import ROOT, Checkout

from plumbline.contract import layout
from plumbline.contract.parent_watch import PROCESSES

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
STAGE = (sys.executable, "-P", "pipelines/train.py", "gradient")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone")
LAUNCHERS = {
    "pyspark": "spark-submit --master local[2] deploy/launchers/on_spark.py",
    "ray": f"{sys.executable} deploy/launchers/on_ray.py",
}
END_TIMEOUT_S = 600.0


@pytest.fixture(scope="module")
def shared(line: Checkout) -> Checkout:
    """A checkout whose candidates two processes train, with accepted data."""
    line.replace(
        "params.yaml", "checkpoint_every_steps: 5", "checkpoint_every_steps: 5, processes: 2"
    )
    line.run(sys.executable, "-P", "pipelines/ingest.py")
    line.run(sys.executable, "-P", "pipelines/validate.py")
    line.environment |= {"PLUMBLINE_TRACKING": "off", "OMP_NUM_THREADS": "1"}
    return line


@pytest.fixture
def long(shared: Checkout) -> Checkout:
    """The same with a training that takes minutes."""
    shared.replace("params.yaml", "max_epochs: 4", "max_epochs: 4000")
    shutil.rmtree(shared.path / layout.CHECKPOINTS, ignore_errors=True)
    yield shared
    shared.replace("params.yaml", "max_epochs: 4000", "max_epochs: 4")
    shutil.rmtree(shared.path / layout.CHECKPOINTS)


def digest_bundle(checkout: Checkout) -> str:
    return layout.digest(checkout.path / layout.locate_bundle("gradient") / layout.BUNDLE_SEAL)


def start(checkout: Checkout) -> "subprocess.Popen[str]":
    """Start the stage, and wait until a checkpoint is there: all processes train."""
    stage = subprocess.Popen(
        STAGE, cwd=checkout.path, env=checkout.environment, stderr=subprocess.PIPE, text=True
    )
    while not list((checkout.path / layout.CHECKPOINTS).glob("gradient-*/state.safetensors")):
        assert stage.poll() is None, stage.stderr.read()
        time.sleep(0.05)
    return stage


def find_processes(stage: int) -> dict[int, psutil.Process]:
    """Find the processes that train below a stage, by their rank."""
    found = {}
    for process in psutil.Process(stage).children(recursive=True):
        environment = process.environ()
        if PROCESSES in environment and "RANK" in environment:
            found[int(environment["RANK"])] = process
    return found


def wait_until_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=END_TIMEOUT_S)
    assert not alive


def test_the_stage_starts_as_many_processes_as_params_ask_for(shared: Checkout) -> None:
    done = shared.run(*STAGE)
    assert done.stdout.count("epoch 4/4") == 1
    assert done.stderr == ""
    alone = digest_bundle(shared)
    shutil.rmtree(shared.path / layout.MODELS)
    shared.run(*TORCHRUN, "--nproc-per-node", "2", *STAGE[2:])
    assert digest_bundle(shared) == alone


def test_a_closed_form_needs_no_launch(shared: Checkout) -> None:
    shared.run(*STAGE[:-1], "closed", PLUMBLINE_LAUNCH="/nowhere/torchrun")
    assert (shared.path / layout.locate_bundle("closed") / layout.BUNDLE_SEAL).exists()


def test_another_launcher_is_named_by_a_variable(shared: Checkout) -> None:
    launcher = f"{' '.join(TORCHRUN)} --nproc-per-node 2"
    done = shared.run(*STAGE, PLUMBLINE_LAUNCH=launcher)
    assert done.stdout.count("epoch 4/4") == 1


@pytest.mark.parametrize("library", LAUNCHERS)
def test_spark_and_ray_end_in_the_same_weights(shared: Checkout, library: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    shared.run(*STAGE)
    expected = digest_bundle(shared)
    shutil.rmtree(shared.path / layout.MODELS)
    shared.run(*STAGE, PLUMBLINE_LAUNCH=LAUNCHERS[library])
    assert digest_bundle(shared) == expected


def test_slurm_ends_in_the_same_weights_on_two_nodes(shared: Checkout) -> None:
    """As docs/training-on-many-machines.md has it, but for the number of processes on a node."""
    if (
        shutil.which("srun") is None
        or shared.run("srun", "--nodes", "2", "true", code=None).returncode
    ):
        pytest.skip("no SLURM with two nodes")
    shared.run(*STAGE)
    expected = digest_bundle(shared)
    shutil.rmtree(shared.path / layout.MODELS)
    document = (ROOT / "docs/training-on-many-machines.md").read_text()
    (launcher,) = re.findall("`(srun .*)`", document)
    launcher = launcher.replace("--nproc-per-node 4", "--nproc-per-node 1")
    shared.run(*STAGE, PLUMBLINE_LAUNCH=launcher, MASTER_ADDR=socket.gethostname())
    assert digest_bundle(shared) == expected


def test_what_all_processes_find_is_said_once(shared: Checkout) -> None:
    shared.replace("params.yaml", "learning_rate: 0.05", "learning_rate: 1.0e-12")
    done = shared.run(*STAGE, code=1)
    shared.replace("params.yaml", "learning_rate: 1.0e-12", "learning_rate: 0.05")
    assert done.stderr.count("nothing was learned") == 1
    assert "the processes ended with exit code 1; the reason is above" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bundle_on_another_disk_is_missed(shared: Checkout, tmp_path: Path) -> None:
    """The processes end well, and what they wrote is not here."""
    shutil.rmtree(shared.path / layout.MODELS)
    done = shared.run(*STAGE, code=1, PLUMBLINE_LAUNCH="true")
    assert "models/gradient: not here after a training that ended well" in done.stderr


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")],
)
def test_a_signal_ends_all_processes(long: Checkout, number: int, code: int, said: str) -> None:
    stage = start(long)
    processes = find_processes(stage.pid)
    assert sorted(processes) == [0, 1]
    os.kill(stage.pid, number)
    stderr = stage.communicate(timeout=END_TIMEOUT_S)[1]
    assert stage.returncode == code
    assert stderr == f"train: {said}; run the same command again to continue\n"
    wait_until_gone(list(processes.values()))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_the_others(long: Checkout, rank: int) -> None:
    stage = start(long)
    processes = find_processes(stage.pid)
    processes[rank].kill()
    stderr = stage.communicate(timeout=END_TIMEOUT_S)[1]
    assert stage.returncode == 137
    assert "a process was ended by SIGKILL; run the same command again to continue" in stderr
    assert "Traceback" not in stderr
    wait_until_gone(list(processes.values()))


def test_a_killed_stage_leaves_no_process(long: Checkout) -> None:
    stage = start(long)
    below = psutil.Process(stage.pid).children(recursive=True)
    stage.kill()
    stage.communicate()
    wait_until_gone(below)
