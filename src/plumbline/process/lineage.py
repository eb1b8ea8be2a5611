"""What a result came from: the commit, and the digests of data, parameters and locks."""

import functools
import logging
import os
import subprocess
import sys
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.process.files import digest_path

INPUTS = {
    "data": layout.MANIFEST,
    "params": layout.PARAMS,
    "requirements": Path("requirements.lock"),
}
GIT_TIMEOUT_S = 120
REFUSED_OWNER = "dubious ownership"  # how git says that it reads no repository of another user
log = logging.getLogger(__name__)
# plumbline writes these itself: evidence names the champion that it was compared with.
WRITTEN_PATHS = ("champion.json", "data/identity.json", "dvc.lock", "reports")


def collect_lineage() -> dict[str, str]:
    """Return the git commit, whether an input differs from it, and a SHA-256 of each input."""
    facts = {name: digest_path(path) for name, path in INPUTS.items() if path.exists()}
    commit = ask_git("rev-parse", "HEAD")
    if commit:
        excluded = [f":!{path}" for path in WRITTEN_PATHS]
        changed = ask_git("status", "--porcelain", "--", ".", *excluded)
        facts["git_commit"] = commit
        # None, where git fails, counts as dirty.
        facts["git_dirty"] = str(changed != "").lower()
    return facts


def ask_git(*arguments: str) -> str | None:
    """Return what git prints; None if it fails, for example outside a repository."""
    try:
        done = run_git(*arguments, timeout=GIT_TIMEOUT_S)
    except (PlumblineError, subprocess.TimeoutExpired):
        return None
    if REFUSED_OWNER in done.stderr:
        _warn_of_owner(str(Path.cwd()))
    return done.stdout.strip("\n") if done.returncode == 0 else None


def run_git(*arguments: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run git and capture what it prints; its exit code is for the caller to check.

    Bytes that are not UTF-8, as in names of files, are surrogates as `os.fsdecode` makes them.
    Raises PlumblineError if git cannot be run, TimeoutExpired after `timeout` seconds.
    """
    command = ["git", *arguments]
    try:
        return subprocess.run(
            command, capture_output=True, check=False,
            encoding=sys.getfilesystemencoding(), errors="surrogateescape",
            timeout=timeout, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except OSError as error:
        raise PlumblineError(f"git cannot be run ({error.strerror}); install it") from None


@functools.cache
def _warn_of_owner(folder: str) -> None:
    """Warn once that results have no commit here; git says nothing where its output is read."""
    log.warning(
        "%s belongs to another user, so git refuses it: results name no commit; "
        "run `git config --global --add safe.directory %s`",
        folder,
        folder,
    )
