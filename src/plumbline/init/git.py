"""Git, in the repository that is made or upgraded."""

import subprocess
from pathlib import Path

from plumbline.contract.errors import PlumblineError
from plumbline.process.lineage import run_git


def call_git(folder: Path, *arguments: str) -> str:
    """Run git in `folder` and return what it prints; raises PlumblineError where it fails."""
    done = try_git(folder, *arguments)
    if done.returncode:
        raise PlumblineError(f"`{' '.join(done.args)}` failed: {done.stderr.strip()}")
    return done.stdout.strip("\n")


def try_git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in `folder`; its exit code is for the caller to check."""
    return run_git("-C", str(folder), *arguments)
