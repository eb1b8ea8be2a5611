"""What a process costs, as the operating system counts it, and where it runs."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class ProcessCost:
    """The peak of its memory, the seconds that it took, and those of a processor."""

    peak_mb: float  # RSS
    seconds: float
    cpu_seconds: float


@contextmanager
def open_folder(prefix: str) -> Iterator[Path]:
    """Make a temporary folder, which is removed."""
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        yield Path(name).resolve()


def measure_process(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    output: Any = subprocess.DEVNULL,
    codes: Sequence[int] = (0,),
) -> ProcessCost:
    """Run `command` in `folder`; SystemExit where its exit code is none of `codes`."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output)
    _, status, usage = os.wait4(process.pid, 0)
    # wait4 has taken the status, so Popen can no longer ask for it.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return ProcessCost(
        peak_mb=kilobytes * 1024 / 1e6,
        seconds=time.perf_counter() - start,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
    )


def clone_checkout(folder: Path, recipe: str | None, **more: str) -> dict[str, str]:
    """Clone this commit into `folder`; return what a user's shell has there, and `more`."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    removed = ("MLFLOW_TRACKING_URI", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in removed}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment |= {"PYTHONPATH": str(folder / "src"), **more}
    if recipe:
        use = ["plumbline", "recipe", recipe, "--use"]
        subprocess.run(use, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return environment
