"""What a process costs, as the operating system counts it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


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
        yield Path(name)


def measure_process(command: Sequence[str], folder: Path) -> ProcessCost:
    """Run `command` in `folder`, without what it prints; SystemExit where it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    # wait4 has taken the status, so Popen can no longer ask for it.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return ProcessCost(
        peak_mb=kilobytes * 1024 / 1e6,
        seconds=time.perf_counter() - start,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
    )
