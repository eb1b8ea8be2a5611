"""What a run needs and does not have, found before it is missed."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics.finding import Finding
from plumbline.entrypoint import load_params
from plumbline.registry import model_versions

LOCKS = (Path("requirements.lock"), Path("requirements-cpu.lock"))
MIN_FREE_BYTES = 5_000_000_000


def examine() -> list[Finding]:
    """Look at everything; one fault hides no other."""
    looks: list[Callable[[], Finding]] = [
        _python,
        _packages,
        _git,
        _params,
        _dvc,
        _registry,
        _disk,
        _writable,
        _device,
    ]
    return [look() for look in looks]


def _python() -> Finding:
    found = sys.version.split()[0]
    return Finding(
        "python",
        sys.version_info[:2] == (3, 11),
        found,
        "" if found.startswith("3.11") else "use Python 3.11",
    )


def _packages() -> Finding:
    """The lock against what is installed."""
    wanted = dict(
        re.findall(
            r"^([a-z0-9._-]+)==([^ \\;]+)(?= \\$)", "\n".join(map(_text, LOCKS)), re.MULTILINE
        )
    )
    wrong = [
        f"{name} {_installed(name)} (lock: {pin})"
        for name, pin in sorted(wanted.items())
        if _installed(name) != pin
    ]
    if not wanted:
        return Finding(
            "packages", False, "requirements.lock is not here", "run from the top of the repository"
        )
    if wrong:
        return Finding(
            "packages",
            False,
            f"{len(wrong)} differ from the lock: {', '.join(wrong[:5])}",
            "make setup",
        )
    return Finding("packages", True, f"{len(wanted)} as locked")


def _git() -> Finding:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return Finding(
            "git",
            False,
            "no commit here",
            "git init && git add -A && git commit -m start: lineage needs one",
        )
    return Finding("git", True, f"commit {done.stdout.strip()}")


def _params() -> Finding:
    try:
        params = load_params(layout.PARAMS)
    except PlumblineError as error:
        return Finding("params.yaml", False, str(error), "mend the keys above")
    return Finding(
        "params.yaml", True, f"task {params.task}, candidates {', '.join(params.candidates)}"
    )


def _dvc() -> Finding:
    """DVC's own files, of which a truncated one stops every later run."""
    for path in (Path("dvc.yaml"), Path("dvc.lock")):
        lines = _text(path).splitlines()
        if conflicts := [
            n for n, line in enumerate(lines, 1) if line.startswith(("<<<<<<<", ">>>>>>>"))
        ]:
            line = conflicts[0]
            return Finding(
                "dvc",
                False,
                f"{path}:{line}: merge conflict markers",
                f"settle the conflict in {path}",
            )
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "stage", "list", "--name-only"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[0]
        return Finding(
            "dvc",
            False,
            reason,
            "git checkout dvc.yaml dvc.lock, or remove dvc.lock to run everything anew",
        )
    return Finding("dvc", True, f"{len(done.stdout.split())} stages")


def _registry() -> Finding:
    try:
        found = len(model_versions.client().search_registered_models())
    except PlumblineError as error:
        return Finding(
            "registry",
            False,
            str(error),
            "start the server, or unset MLFLOW_TRACKING_URI to use mlruns/mlflow.db",
        )
    return Finding("registry", True, f"{model_versions.where()}, {found} models")


def _disk() -> Finding:
    free = shutil.disk_usage(".").free
    remedy = (
        "" if free > MIN_FREE_BYTES else "free some, or move the cache: dvc cache dir /larger/disk"
    )
    return Finding("disk", free > MIN_FREE_BYTES, f"{free / 1e9:.1f} GB free", remedy)


def _writable() -> Finding:
    for path in (layout.EXAMPLES, layout.VALIDATION, layout.MODELS, layout.CHECKPOINTS):
        try:
            with layout.written(path.parent / ".doctor") as aside:
                aside.write_text("ok", encoding="utf-8")
            (path.parent / ".doctor").unlink()
        except OSError as error:
            return Finding(
                "folders",
                False,
                f"{path.parent}: {error.strerror}",
                f"chown or chmod {path.parent}",
            )
    return Finding("folders", True, "writable")


def _device() -> Finding:
    import torch

    name = (
        torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"CPU, {torch.get_num_threads()} threads"
    )
    return Finding("device", True, f"{name}; torch {torch.__version__}")


def _installed(name: str) -> str:
    try:
        return version(name).partition("+")[0]
    except PackageNotFoundError:
        return "missing"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
