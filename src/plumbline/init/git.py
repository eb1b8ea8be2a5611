"""Git, in the repository that is made or upgraded."""

from pathlib import Path

from plumbline.contract.errors import PlumblineError
from plumbline.process.lineage import run_git


def call_git(folder: Path, *arguments: str) -> str:
    """Run git in `folder` and return what it prints; raises PlumblineError where it fails."""
    done = run_git("-C", str(folder), *arguments)
    if done.returncode:
        raise PlumblineError(f"`{' '.join(done.args)}` failed: {done.stderr.strip()}")
    return done.stdout.strip("\n")
