"""What a result came from: the commit, and the digests of data, parameters and locks."""

import subprocess
from pathlib import Path

from plumbline.contract import layout

INPUTS = {
    "data": layout.MANIFEST,
    "params": layout.PARAMS,
    "dvc_lock": Path("dvc.lock"),
    "requirements": Path("requirements.lock"),
}
GIT_S = 120
WRITTEN = (
    "champion.json",
    "dvc.lock",
    "reports",
)  # by plumbline itself: evidence names the champion it compared with


def lineage() -> dict[str, str]:
    """The git commit, whether an input differs from it, and a SHA-256 for each input that exists."""
    facts = {name: layout.digest(path) for name, path in INPUTS.items() if path.exists()}
    commit = git("rev-parse", "HEAD")
    if commit:
        changed = git("status", "--porcelain", "--", ".", *(f":!{path}" for path in WRITTEN))
        facts |= {
            "git_commit": commit,
            "git_dirty": str(changed != "").lower(),
        }  # what git does not tell may be dirty
    return facts


def git(*arguments: str) -> str | None:
    """What git prints; None where it fails, as outside a repository."""
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, check=False, timeout=GIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip("\n") if done.returncode == 0 else None
