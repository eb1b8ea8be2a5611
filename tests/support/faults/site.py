"""A checkout at one fixed path, its states before each stage, and the processes that work in it."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.support import checkouts
from tests.support.checkouts import LINE, Checkout, make_checkout
from tests.support.warm import commands

SOURCE = Path(__file__).with_name("preload.c")
IDLE_TIMEOUT_S = 60
END_TIMEOUT_S = 5
STAGE_TIMEOUT_S = 300


class Site:
    """The checkout `folder`/work. MLflow keeps absolute paths, so that all happens at that path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.temporary = folder / "tmp"
        self.library = folder / "preload.so"
        self.temporary.mkdir(parents=True, exist_ok=True)
        compile_library(self.library)
        shutil.rmtree(folder / "warm", ignore_errors=True)
        checkouts.warm_commands[:] = [commands.write_commands(folder / "warm", os.getpid())]
        is_new = not self.work.exists()
        self.checkout = self._make_checkout() if is_new else Checkout(self.work)
        self._start_server()

    def run(self, *command: str, fault: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in the checkout, under a fault if one is given."""
        environment = self.checkout.environment | {"TMPDIR": str(self.temporary)}
        if fault:
            environment["PLUMBLINE_FAULT"] = fault
        return subprocess.run(
            command, cwd=self.work, env=environment, capture_output=True, text=True, check=False,
            timeout=STAGE_TIMEOUT_S,
        )  # fmt: skip

    def save(self, name: str) -> None:
        """Keep the state of the checkout under a name."""
        copy_folder(self.work, self.folder / name)

    def restore(self, name: str) -> None:
        """Bring a state back, once nothing works in the checkout."""
        self.end_processes()
        copy_folder(self.folder / name, self.work)
        shutil.rmtree(self.temporary)
        self.temporary.mkdir()

    def wait_until_idle(self) -> None:
        """Wait until MLflow has all that was logged."""
        until = time.monotonic() + IDLE_TIMEOUT_S
        while time.monotonic() < until and self.has_spooled_passes():
            time.sleep(0.2)

    def has_spooled_passes(self) -> bool:
        """Whether anything waits for MLflow."""
        return any((self.work / ".plumbline/tracking").glob("*/pass.json"))

    def end_processes(self) -> None:
        """End what works in the checkout, such as the process that tracks: all was started here."""
        until = time.monotonic() + END_TIMEOUT_S
        while time.monotonic() < until and (pids := list_processes(self.work)):
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.05)

    def _make_checkout(self) -> Checkout:
        self.work.mkdir()
        made = make_checkout(self.work)
        target = self.work / "src/plumbline/tasks/line"
        ignored = shutil.ignore_patterns("params.yaml", "__pycache__")
        shutil.copytree(LINE, target, ignore=ignored)
        shutil.copy2(LINE / "params.yaml", self.work / "params.yaml")
        made.run("git", "add", "-A")
        made.run("git", "commit", "-qm", "a line")
        return made

    def _start_server(self) -> None:
        """Start the warm Python with the library loaded: what is forked from it has it as well."""
        library = {"LD_PRELOAD": str(self.library)}
        environment = self.checkout.environment | library
        subprocess.run(["python", "-c", ""], env=environment, cwd=self.work, check=True)


def compile_library(target: Path) -> None:
    """Compile what injects faults; raises CalledProcessError with the compiler's messages."""
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-o", str(target), str(SOURCE), "-ldl"], check=True
    )


def copy_folder(source: Path, target: Path) -> None:
    """Replace `target` by a copy with the same times, as `cp -a` makes it."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def list_processes(folder: Path) -> list[int]:
    """List the processes whose working folder is `folder`, also where it was removed."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = str((process / "cwd").readlink()).removesuffix(" (deleted)")
        except OSError:
            continue
        if place == str(folder) and int(process.name) != os.getpid():
            pids.append(int(process.name))
    return pids
