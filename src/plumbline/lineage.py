"""What a result came from: the commit, and the digests of data, parameters and locks."""

import subprocess
from pathlib import Path

from plumbline import layout

INPUTS = {
    "data": layout.MANIFEST,
    "params": layout.PARAMS,
    "dvc_lock": Path("dvc.lock"),
    "requirements": Path("requirements.lock"),
}
WRITTEN = ("champion.json", "dvc.lock", "reports")  # by plumbline itself: evidence names the champion it compared with


def lineage() -> dict[str, str]:
    """The git commit, whether an input differs from it, and a SHA-256 for each input that exists."""
    facts = {name: layout.digest(path) for name, path in INPUTS.items() if path.exists()}
    commit = _git("rev-parse", "HEAD")
    if commit:
        changed = _git("status", "--porcelain", "--", ".", *(f":!{path}" for path in WRITTEN))
        facts |= {"git_commit": commit, "git_dirty": str(bool(changed)).lower()}
    return facts


def _git(*arguments: str) -> str:
    """Git's answer, or nothing outside a repository."""
    try:
        found = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""
