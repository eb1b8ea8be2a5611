"""How the command that starts the processes ends, without a training."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from plumbline.contract import launching
from plumbline.contract.errors import LaunchedError, ParamsError
from plumbline.contract.stop_signals import Terminated

LAUNCH = "from plumbline.contract.launching import launch; launch(['script.py'], 2)"


def wait_until_gone(pid: int) -> None:
    with suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(timeout=600)


def terminate_when_there(file: Path) -> None:
    while not file.exists() or not file.read_text():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "the processes ended with exit code 1; the reason is above"),
        (137, "a process was ended by SIGKILL"),
        (255, "the processes ended with exit code 255; the reason is above"),
    ],
)
def test_a_code_beyond_those_of_signals_is_none(
    code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(launching.COMMAND, f"sh -c 'exit {code}'")
    with pytest.raises(LaunchedError, match=said) as caught:
        launching.launch([], 2)
    assert caught.value.exit_code == code


@pytest.mark.parametrize("first", ['trap "" TERM', "true"])
def test_a_terminated_stage_ends_a_shell_that_passes_no_signal_on(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that ignores SIGTERM: it is killed, and the stage was terminated all the same."""
    below = tmp_path / "below"

    def terminate(number: int, frame: object) -> None:
        raise Terminated

    monkeypatch.setattr(launching, "GRACE_S", 0.2)
    monkeypatch.setenv(
        launching.COMMAND, f"sh -c '{first}; sleep 3600 & echo $! > {below}; wait; wait'"
    )
    before = signal.signal(signal.SIGTERM, terminate)
    threading.Thread(target=terminate_when_there, args=(below,)).start()
    try:
        with pytest.raises(Terminated):
            launching.launch([], 2)
    finally:
        signal.signal(signal.SIGTERM, before)
    wait_until_gone(int(below.read_text()))


def test_a_command_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(launching.COMMAND, "/nowhere/srun torchrun")
    with pytest.raises(ParamsError, match="/nowhere/srun cannot be run"):
        launching.launch([], 2)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux alone does so")
def test_a_stage_that_is_killed_before_its_processes_began_leaves_none(tmp_path: Path) -> None:
    """Such a process would take init for its parent, train on, and publish."""
    started = tmp_path / "started"
    command = f"sh -c 'echo $$ > {started}; exec sleep 3600'"
    stage = subprocess.Popen(
        [sys.executable, "-P", "-c", LAUNCH], env={**os.environ, launching.COMMAND: command}
    )
    while not started.exists() or not started.read_text():
        assert stage.poll() is None
        time.sleep(0.02)
    stage.kill()
    stage.wait()
    wait_until_gone(int(started.read_text()))
