"""The tags by which MLflow's UI knows user, source, commit and branch, without importing MLflow.

They are those of `mlflow.tracking.context` and describe the moment in which a stage began: MLflow
itself would describe the process that writes, minutes later and perhaps at another commit.
"""

import getpass
import socket
import sys

from plumbline.process.lineage import ask_git


def describe_context() -> dict[str, str]:
    """Return the standard tags of this process; those of git only in a repository."""
    tags = {
        "mlflow.user": _find_user(),
        "mlflow.source.name": sys.argv[0] or "<console>",
        "mlflow.source.type": "LOCAL",
        "host": socket.gethostname(),
    }
    commit = ask_git("rev-parse", "HEAD")
    if commit:
        tags["mlflow.source.git.commit"] = commit
        tags["mlflow.source.git.branch"] = ask_git("rev-parse", "--abbrev-ref", "HEAD") or ""
        url = ask_git("remote", "get-url", "origin")
        if url and "@" not in url:  # which may hold a password
            tags["mlflow.source.git.repoURL"] = url
    return tags


def _find_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run as a user without a name
        return "unknown"
