"""What a run needs of this machine and checkout, before it fails for want of it."""

import platform
import shutil
from collections.abc import Iterator

from plumbline.contract import layout
from plumbline.contract.loading import load_params
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.process import locked_packages
from plumbline.process.lineage import run_git

MIN_FREE_BYTES = 5_000_000_000


def check_packages() -> Iterator[DiagnosticResult]:
    """Compare the installed packages with the lock files."""
    num_pins = len(locked_packages.read_pins())
    different = locked_packages.describe_differences(installed_only=False)
    if different:
        message = f"{len(different)} differ from the lock: {', '.join(different[:5])}"
        yield DiagnosticResult("packages", False, message, "make setup")
        return
    message = f"{num_pins} as locked; Python {platform.python_version()}"
    remedy = "" if num_pins else "no requirements*.lock is here: `git checkout` it"
    yield DiagnosticResult("packages", num_pins > 0, message, remedy)


def check_git() -> Iterator[DiagnosticResult]:
    """Whether there is a commit, which results can name."""
    done = run_git("rev-parse", "--short", "HEAD")
    if done.returncode:
        remedy = "git init && git add -A && git commit -m start: lineage needs a commit"
        yield DiagnosticResult("git", False, "no commit here", remedy)
        return
    yield DiagnosticResult("git", True, f"commit {done.stdout.strip()}")


def check_params() -> Iterator[DiagnosticResult]:
    """Whether params.yaml is valid."""
    params = load_params(layout.PARAMS)
    candidates = ", ".join(params.candidates)
    yield DiagnosticResult("params.yaml", True, f"task {params.task}, candidates {candidates}")


def check_disk() -> Iterator[DiagnosticResult]:
    """Whether there is space for a run."""
    free = shutil.disk_usage(".").free
    ok = free > MIN_FREE_BYTES
    remedy = "" if ok else "free some space, or move the cache: dvc cache dir /larger/disk"
    yield DiagnosticResult("disk", ok, f"{free / 1e9:.1f} GB free", remedy)


def check_device() -> Iterator[DiagnosticResult]:
    """On what torch computes."""
    import torch

    if torch.cuda.is_available():
        name = torch.cuda.get_device_name()
    else:
        name = f"CPU, {torch.get_num_threads()} threads"
    yield DiagnosticResult("device", True, f"{name}; torch {torch.__version__}")
