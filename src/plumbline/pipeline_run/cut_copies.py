"""Files that DVC began to copy out of its cache and, killed or on a full disk, did not finish."""

import re
from pathlib import Path

FOLDERS = ("data", "models", "reports")
NAME = re.compile(r"\.[\w-]{22}\.tmp")  # as dvc_objects.fs.utils.tmp_fname makes them


def remove_cut_copies() -> None:
    """Remove them, for they would count as outputs; no other process of DVC may be at work."""
    for folder in FOLDERS:
        for path in Path(folder).rglob(".*.tmp"):
            if NAME.fullmatch(path.name) and path.is_file():
                path.unlink(missing_ok=True)
