"""What a run needs: checked before the run fails for want of it, and nothing is written."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics.fsck.registry_state import list_all
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.entrypoint import load_params
from plumbline.process import locked_packages
from plumbline.process.lineage import run_git
from plumbline.process.system_errors import explain_system_error
from plumbline.registry import model_versions
from plumbline.registry.reader import addresses
from plumbline.tracking import moved_store, store_location

CONFLICT_MARKERS = ("<<<<<<<", ">>>>>>>")
OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 13)
MIN_FREE_BYTES = 5_000_000_000
RESTORE_DVC = "git checkout dvc.yaml dvc.lock, or remove dvc.lock to run everything again"
RESTORE_LOCATIONS = "`plumbline champion` makes it name those here, as `plumbline run` does"


def examine() -> list[DiagnosticResult]:
    """Run all checks; one fault hides no other."""
    checks: dict[str, Callable[[], DiagnosticResult]] = {
        "python": _check_python,
        "packages": _check_packages,
        "git": _check_git,
        "params.yaml": _check_params,
        "dvc": _check_dvc,
        "registry": _check_registry,
        "disk": _check_disk,
        "folders": _check_folders,
        "device": _check_device,
    }
    return [_run_check(what, check) for what, check in checks.items()]


def _run_check(what: str, check: Callable[[], DiagnosticResult]) -> DiagnosticResult:
    """Run a check; where it fails itself, such as in the user's own task, that is its fault."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001  what a library or the user's own code raises
        message = explain_system_error(error) or f"{type(error).__name__}: {error}"
        return DiagnosticResult(what, False, message, "fix that, then run `plumbline doctor` again")


def _check_python() -> DiagnosticResult:
    installed = sys.version.split()[0]
    ok = OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON
    remedy = "" if ok else "uv python install 3.12, then make setup PYTHON=$(uv python find 3.12)"
    return DiagnosticResult("python", ok, installed, remedy)


def _check_packages() -> DiagnosticResult:
    """Compare the installed packages with the lock files."""
    num_pins = len(locked_packages.read_pins())
    if not num_pins:
        return DiagnosticResult(
            "packages",
            False,
            "requirements.lock is not here",
            "run from the top folder of the repository",
        )
    different = [
        f"{name} {installed or 'missing'} (lock: {' or '.join(sorted(pins))})"
        for name, installed, pins in locked_packages.find_differences()
    ]
    if different:
        message = f"{len(different)} differ from the lock: {', '.join(different[:5])}"
        return DiagnosticResult("packages", False, message, "make setup")
    return DiagnosticResult("packages", True, f"{num_pins} as locked")


def _check_git() -> DiagnosticResult:
    try:
        done = run_git("rev-parse", "--short", "HEAD")
    except PlumblineError as error:
        fault, _, remedy = str(error).partition("; ")
        return DiagnosticResult("git", False, fault, remedy)
    if done.returncode:
        remedy = "git init && git add -A && git commit -m start: lineage needs a commit"
        return DiagnosticResult("git", False, "no commit here", remedy)
    return DiagnosticResult("git", True, f"commit {done.stdout.strip()}")


def _check_params() -> DiagnosticResult:
    try:
        params = load_params(layout.PARAMS)
    except PlumblineError as error:
        return DiagnosticResult("params.yaml", False, str(error), "fix the keys above")
    candidates = ", ".join(params.candidates)
    return DiagnosticResult("params.yaml", True, f"task {params.task}, candidates {candidates}")


def _check_dvc() -> DiagnosticResult:
    """DVC's own files; a truncated one stops every later run."""
    for path in (Path("dvc.yaml"), Path("dvc.lock")):
        try:
            text = _read_text(path)
        except UnicodeDecodeError as error:
            message = f"{path}: not UTF-8 at byte {error.start}"
            return DiagnosticResult("dvc", False, message, RESTORE_DVC)
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith(CONFLICT_MARKERS):
                message = f"{path}:{number}: merge conflict markers"
                return DiagnosticResult("dvc", False, message, f"resolve the conflict in {path}")
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        _link_checkout(Path(folder))
        done = subprocess.run(
            [sys.executable, "-P", "-m", "dvc", "stage", "list", "--name-only"],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[0]
        return DiagnosticResult("dvc", False, reason, RESTORE_DVC)
    return DiagnosticResult("dvc", True, f"{len(done.stdout.split())} stages")


def _link_checkout(folder: Path) -> None:
    """Let DVC read the checkout from `folder`: whatever it is asked, it writes below .dvc first."""
    for path in Path.cwd().iterdir():
        if path.name not in (".dvc", ".git"):
            (folder / path.name).symlink_to(path)
    (folder / ".dvc").mkdir()
    (folder / ".dvc/config").write_text(_read_text(Path(".dvc/config")), encoding="utf-8")
    (folder / ".dvc/config.local").write_text("[core]\nno_scm = true\n", encoding="utf-8")


def _check_registry() -> DiagnosticResult:
    try:
        uri = store_location.find_uri()
    except PlumblineError as error:
        fault, _, remedy = str(error).rpartition("; ")
        return DiagnosticResult("registry", False, fault, remedy)
    if store_location.is_missing(uri):
        return DiagnosticResult("registry", True, "none yet; the first run creates it")
    former = moved_store.find_former_folders()
    if former:  # a connection would change them
        message = f"was moved; it names files in {', '.join(map(str, sorted(former)))}"
        return DiagnosticResult("registry", True, message, RESTORE_LOCATIONS)
    try:
        num_models = len(list_all(model_versions.connect_registry().search_registered_models))
    except PlumblineError as error:
        remedy = "start the server, or unset MLFLOW_TRACKING_URI to use mlruns/mlflow.db"
        return DiagnosticResult("registry", False, str(error), remedy)
    message = f"{addresses.describe_registry()}, {num_models} models"
    return DiagnosticResult("registry", True, message)


def _check_disk() -> DiagnosticResult:
    free = shutil.disk_usage(".").free
    ok = free > MIN_FREE_BYTES
    remedy = "" if ok else "free some space, or move the cache: dvc cache dir /larger/disk"
    return DiagnosticResult("disk", ok, f"{free / 1e9:.1f} GB free", remedy)


def _check_folders() -> DiagnosticResult:
    for path in (layout.EXAMPLES, layout.VALIDATION, layout.MODELS, layout.CHECKPOINTS):
        folder = next(parent for parent in path.resolve().parents if parent.exists())
        if not os.access(folder, os.W_OK | os.X_OK):
            message = f"{folder}: not writable"
            return DiagnosticResult("folders", False, message, f"chown or chmod {folder}")
    return DiagnosticResult("folders", True, "writable")


def _check_device() -> DiagnosticResult:
    import torch

    if torch.cuda.is_available():
        name = torch.cuda.get_device_name()
    else:
        name = f"CPU, {torch.get_num_threads()} threads"
    return DiagnosticResult("device", True, f"{name}; torch {torch.__version__}")


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
