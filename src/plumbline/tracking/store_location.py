"""Where MLflow keeps runs and versions.

This module does not import MLflow: a server that only reads starts without it.
"""

import os
from pathlib import Path


def find_uri() -> str:
    """Return MLFLOW_TRACKING_URI, or the address of SQLite below mlruns/."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{find_home()}/mlruns/mlflow.db"


def find_home() -> Path:
    """Return the root of the checkout.

    DVC runs queued experiments in copies of it below its .dvc/tmp/exps.
    """
    here = Path.cwd().resolve()
    for parent in here.parents:
        if parent.parts[-3:] == (".dvc", "tmp", "exps"):
            return parent.parents[2]
    return here


def shorten_error(error: Exception) -> str:
    """Return the first line of an error of MLflow or a database; a stack trace may follow it."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:200]
