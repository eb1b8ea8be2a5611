"""A checkout at one fixed path, its states before each stage, and the processes that work in it."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.support import checkouts
from tests.support.checkouts import Checkout, make_checkout
from tests.support.faults.disk import Disk
from tests.support.faults.forks import run_forked
from tests.support.faults.pipeline import Pipeline
from tests.support.warm import commands

SOURCE = Path(__file__).with_name("preload.c")
WARM = "warm"  # the folder of the server
SOURCES = "PLUMBLINE_TEST_SOURCES"  # read by tests/support/warm/server.py
END_TIMEOUT_S = 600
STAGE_TIMEOUT_S = 300


def start_commands(folder: Path, pipeline: Pipeline) -> None:
    """Start the warm Python of all sites with the library loaded: what it forks has it as well.

    It has imported the sources that all checkouts have: imports are no calls to fail.
    """
    library, server, sources = folder / "preload.so", folder / WARM, folder / "sources"
    for stale in (server, sources):
        shutil.rmtree(stale, ignore_errors=True)
    sources.mkdir(parents=True)
    compile_library(library)
    make_checkout(sources)
    pipeline.write_files(sources)
    made = commands.write_commands(server, os.getpid())
    checkouts.warm_commands[:] = [made]
    environment = checkouts.get_clean_environment()
    environment |= {"LD_PRELOAD": str(library), SOURCES: str(sources / "src")}
    subprocess.run([str(made / "python"), "-c", ""], env=environment, cwd=folder, check=True)


def compile_library(target: Path) -> None:
    """Compile what injects faults; raises CalledProcessError with the compiler's messages."""
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-o", str(target), str(SOURCE), "-ldl"], check=True
    )


class Site:
    """The checkout `folder`/disk/work. MLflow keeps absolute paths: all happens at that path.

    The commands of `start_commands` run in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.disk = Disk(folder / "disk")
        self.work = self.disk.folder / "work"
        self.temporary = self.disk.folder / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.token = folder / "token"  # what the library writes
        self.checkout = Checkout(self.work)

    def make_checkout(self, pipeline: Pipeline) -> None:
        """Make a checkout with that pipeline; what was there is removed."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        made = make_checkout(self.work)
        pipeline.write_files(self.work)
        made.run("git", "add", "-A")
        made.run("git", "commit", "-qm", "a small pipeline")

    def run(self, *command: str, fault: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in the checkout, under a fault (KIND|NUMBER|ACTION) if one is given."""
        environment = self.checkout.environment | {"TMPDIR": str(self.temporary)}
        if fault:
            self.token.unlink(missing_ok=True)
            environment["PLUMBLINE_FAULT"] = f"{self.work}|{self.token}|{fault}"
        server = self.folder.parent / WARM
        return run_forked(server, command, self.work, environment, STAGE_TIMEOUT_S)

    def save(self, name: str) -> None:
        """Keep the state of the checkout under a name."""
        copy_folder(self.work, self.folder / name)

    def restore(self, name: str) -> None:
        """Bring a state back, once nothing works in the checkout."""
        self.end_processes()
        self.disk.free()
        self.work.mkdir(exist_ok=True)
        restore_folder(self.folder / name, self.work)
        shutil.rmtree(self.temporary)
        self.temporary.mkdir()

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

    def close(self) -> None:
        """End what works here and remove the disk."""
        self.end_processes()
        self.disk.close()


def copy_folder(source: Path, target: Path) -> None:
    """Replace `target` by a copy with the same times, as `cp -a` makes it."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def restore_folder(source: Path, target: Path) -> None:
    """Make `target` what `source` is: only what differs in size, mode or time is copied again."""
    wanted, present = _list_entries(source), _list_entries(target)
    kept = {
        name for name in wanted.keys() & present.keys() if _is_same(wanted[name], present[name])
    }
    for name in present.keys() - kept:
        _remove(present[name])
    for name, entry in wanted.items():
        if entry.is_dir(follow_symlinks=False):
            (target / name).mkdir(exist_ok=True)
            restore_folder(Path(entry.path), target / name)
        elif name not in kept:
            shutil.copy2(entry.path, target / name, follow_symlinks=False)
    shutil.copystat(source, target)


def _list_entries(folder: Path) -> dict[str, os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return {entry.name: entry for entry in entries}


def _is_same(entry: os.DirEntry[str], other: os.DirEntry[str]) -> bool:
    first, second = entry.stat(follow_symlinks=False), other.stat(follow_symlinks=False)
    names = ["st_mode"]
    if not entry.is_dir(follow_symlinks=False):
        names += ["st_size", "st_mtime_ns"]
    return all(getattr(first, name) == getattr(second, name) for name in names)


def _remove(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path)
    else:
        Path(entry.path).unlink()


def copy_missing_files(source: Path, target: Path, known: Path) -> None:
    """Copy the files of `source` that `known` does not have into `target`."""
    for path in source.rglob("*"):
        name = path.relative_to(source)
        if path.is_file() and not (known / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / name)


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
