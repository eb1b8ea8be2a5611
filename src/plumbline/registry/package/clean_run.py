"""Run clean_process.py on a package: in an isolated Python, in an empty folder, with a limit."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.contract.errors import BundleError
from plumbline.process.files import read_json, write_json

PYTHON = sys.executable  # which runs the clean process
SCRIPT = Path(__file__).with_name("clean_process.py")
FLOOR_S = 300  # to start, to answer golden rows and single ones, to write the answers down
SLOWNESS = 5  # times as long as measured: another process, perhaps beside other work
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "GOMP_SPINCOUNT", "OMP_NUM_THREADS")


def ask_in_clean_process(
    package: Path, asked: Mapping[str, Any], rows: Mapping[str, Any], num_rows: int, row_ms: float
) -> Any:
    """Run clean_process.py in an empty folder, with next to no environment.

    Returns what it wrote. It may take FLOOR_S, and SLOWNESS times `row_ms` for each of `num_rows`.
    BundleError where it fails, or does not end within this time.
    """
    limit = FLOOR_S + SLOWNESS * num_rows * row_ms / 1000
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        folder = Path(private)
        for name in ("work", "home", "tmp"):
            (folder / name).mkdir()
        write_json(folder / "asked.json", asked)
        write_json(folder / "rows.json", rows)
        program = SCRIPT.read_text(encoding="utf-8")
        try:
            ended = subprocess.run(  # in a new Python, without what the user's site adds to it
                [PYTHON, "-I", "-B", "-c", program, str(package), str(folder)],
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
                cwd=folder / "work",
                env=_build_environment(folder),
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            raise BundleError(
                f"the packaged model did not answer within {limit:,.0f} s ({FLOOR_S} s, and "
                f"{SLOWNESS} times the {row_ms:.1f} ms a row that were measured, for "
                f"{num_rows:,} rows)"
            ) from None
        if ended.returncode != 0:
            lines = ended.stderr.strip().splitlines() or ["no message"]
            raise BundleError(f"the packaged model does not answer in a clean process: {lines[-1]}")
        if not (folder / "answered.json").exists():
            raise BundleError(
                "the packaged model ended its process before it had answered everything"
            )
        return read_json(folder / "answered.json")


def _build_environment(folder: Path) -> dict[str, str]:
    """Build the environment of a clean process whose home and temporary files are in `folder`."""
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return environment | {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
