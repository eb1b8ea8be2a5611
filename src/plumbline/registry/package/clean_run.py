"""Run clean_process.py on a package: in an isolated Python, in an empty folder, with a limit."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.errors import BundleError
from plumbline.process.files import read_json, write_json

PYTHON = sys.executable  # which runs the clean process
SCRIPT = Path(__file__).with_name("clean_process.py")
FLOOR_S = 300  # to start, to answer golden rows and single ones, to write the answers down
SLOWNESS = 5  # times as long as measured: another process, perhaps beside other work
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "GOMP_SPINCOUNT", "OMP_NUM_THREADS")


@dataclass(frozen=True)
class TimeLimit:
    """The longest time that a clean process may take, and what it was computed from."""

    num_rows: int
    row_ms: float  # as evaluate measured it
    seconds: float

    def __str__(self) -> str:
        text = f"{self.seconds:,.0f} s"
        if self.num_rows:
            text += (
                f" ({FLOOR_S} s, and {SLOWNESS} times the {self.row_ms:.1f} ms a row that were "
                f"measured, for {self.num_rows:,} rows)"
            )
        return text


def compute_time_limit(num_rows: int, row_ms: float) -> TimeLimit:
    """Compute the time for `num_rows` rows that take `row_ms` milliseconds each."""
    return TimeLimit(num_rows, row_ms, FLOOR_S + SLOWNESS * num_rows * row_ms / 1000)


def ask_in_clean_process(
    package: Path, asked: Mapping[str, Any], folder: Path, limit: TimeLimit
) -> Any:
    """Run clean_process.py in an empty folder, with next to no environment.

    Returns what it wrote. BundleError where it fails, or does not end within `limit`.
    """
    for name in ("work", "home", "tmp"):
        (folder / name).mkdir()
    write_json(folder / "asked.json", asked)
    arguments = [str(package), str(folder / "asked.json"), str(folder / "answered.json")]
    program = SCRIPT.read_text(encoding="utf-8")
    try:
        ended = subprocess.run(  # in a new Python, without what the user's site adds to it
            [PYTHON, "-I", "-B", "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=limit.seconds,
            check=False,
            cwd=folder / "work",
            env=build_environment(folder),
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise BundleError(f"the packaged model did not answer within {limit}") from None
    if ended.returncode != 0:
        lines = ended.stderr.strip().splitlines() or ["no message"]
        raise BundleError(f"the packaged model does not answer in a clean process: {lines[-1]}")
    if not (folder / "answered.json").exists():
        raise BundleError("the packaged model ended its process before it had answered everything")
    return read_json(folder / "answered.json")


def build_environment(folder: Path) -> dict[str, str]:
    """Build the environment of a clean process whose home and temporary files are in `folder`."""
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return environment | {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
