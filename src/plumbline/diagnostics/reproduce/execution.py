"""`dvc repro` in the clone, with all processes that it starts."""

import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from plumbline.contract.errors import PlumblineError

NUM_LAST_LINES = 15
GRACE_S = 10.0  # for stages to end on SIGTERM


def build_environment(clone: Path, folder: Path) -> dict[str, str]:
    """The environment of the clone's processes: all that they write is below `folder`."""
    (folder / "tmp").mkdir()
    (clone / "mlruns").mkdir(exist_ok=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # Signatures are checked here: the clone's registry has none.
    inherited.pop("PLUMBLINE_PUBLIC_KEY", None)
    return {
        **inherited,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": str(clone / "src"),
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": str(folder / "tmp"),
        "DVC_NO_ANALYTICS": "true",
        "DVC_SITE_CACHE_DIR": str(folder / "site"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{clone}/mlruns/mlflow.db",
        "PLUMBLINE_JOURNAL_URI": f"sqlite:///{clone}/mlruns/journal.db",
        # A process that brings runs to MLflow would still write where the clone is removed.
        "PLUMBLINE_TRACKING": "off",
    }


def run_pipeline(clone: Path, environment: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Run `dvc repro evaluate` in a session of its own, so that all its stages end with it.

    Raises PlumblineError with the last lines of its output where it fails.
    """
    last_lines: deque[str] = deque(maxlen=NUM_LAST_LINES)
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "dvc", "repro", "--no-run-cache", "evaluate"],
        cwd=clone,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            for line in process.stdout or ():
                last_lines.append(line.rstrip())
                stage = re.match(r"Running stage '([^']+)'", line)
                if stage:
                    say(f"  {stage[1]}")
            exit_code = process.wait()
        finally:
            _end_session(process)
    if exit_code != 0:
        output = "\n".join(f"  {line}" for line in last_lines if line)
        raise PlumblineError(
            "`dvc repro evaluate` failed in the clone; --keep FOLDER keeps it. "
            f"The last lines of its output:\n{output}"
        )


def _end_session(process: subprocess.Popen[str]) -> None:
    """End what still runs of the session: SIGTERM, and SIGKILL after GRACE_S."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
