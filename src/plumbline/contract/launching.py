"""Starts the processes that train together: by torchrun, or by the command that is named.

Each of them runs the stage; the first one writes. What starts them waits, passes on SIGTERM, and
ends as they do. If it is killed, the command that starts them gets SIGTERM: they may be too young
to watch it, or children of something else, such as a daemon of SLURM.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from plumbline.contract.errors import LaunchedError, ParamsError
from plumbline.contract.named_command import read_command
from plumbline.contract.parent_watch import PROCESSES

COMMAND = "PLUMBLINE_LAUNCH"  # the variable with the command that starts the processes
END_WITH = Path(__file__).with_name("end_with.py")
TORCHRUN = Path(__file__).parents[1] / "training/torchrun.py"
GRACE_S = 40.0  # after SIGTERM; torchrun gives its processes 30
MAX_CODE = 128  # beyond it a shell, and torchrun here, add the number of a signal


def launch(arguments: Sequence[str], processes: int) -> None:
    """Run the Python script and its arguments in `processes` processes; wait for their end.

    Raises ParamsError for a command that cannot be run, LaunchedError where they fail.
    """
    command = [*(read_command(COMMAND) or _build_torchrun(processes)), *arguments]
    guarded = [sys.executable, "-P", str(END_WITH), str(os.getpid()), *command]
    with subprocess.Popen(
        guarded, env=_build_environment(os.environ, processes), start_new_session=True
    ) as launcher:
        code = _wait(launcher)
    if code:
        raise LaunchedError(_explain_code(code), MAX_CODE - code if code < 0 else code)


def refuse_second_launch() -> None:
    """Raise ParamsError in a process that a launcher started as one of several that it is not."""
    if PROCESSES in os.environ:
        raise ParamsError(
            f"{COMMAND}: its command started a process without RANK and WORLD_SIZE; expected one "
            "that sets them as torchrun does, such as `srun torchrun --nproc-per-node 4`"
        )


def _build_torchrun(processes: int) -> list[str]:
    python = [sys.executable, "-P", str(TORCHRUN)]
    return [*python, "--standalone", "--nproc-per-node", str(processes)]


def _build_environment(inherited: Mapping[str, str], processes: int) -> dict[str, str]:
    """Add how many they are; as with `python -P`, no script's folder hides a package."""
    return {**inherited, PROCESSES: str(processes), "PYTHONSAFEPATH": "1"}


def _wait(launcher: "subprocess.Popen[bytes]") -> int:
    """Wait for the end; Ctrl-C or SIGTERM end the processes first, with time for it."""
    try:
        return launcher.wait()
    except BaseException:
        _send(launcher, signal.SIGTERM)
        try:
            with suppress(subprocess.TimeoutExpired):
                launcher.wait(GRACE_S)
        finally:
            _send(launcher, signal.SIGKILL)
        raise


def _send(launcher: "subprocess.Popen[bytes]", number: int) -> None:
    """Send a signal to the command and what it started: a shell passes none on."""
    if launcher.poll() is None:
        os.killpg(launcher.pid, number)


def _explain_code(code: int) -> str:
    number = -code if code < 0 else code - MAX_CODE
    with suppress(ValueError):  # 255 is what ssh, srun and Java end with, not a signal
        name = signal.Signals(number).name
        return f"a process was ended by {name}; run the same command again to continue"
    return f"the processes ended with exit code {code}; the reason is above"
