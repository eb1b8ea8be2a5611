"""Where damaged files go, so that nothing is lost that a person may want to look at."""

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

FOLDER = Path(".plumbline/damaged")


def put_aside(path: Path) -> Path:
    """Move a file out of the way and return where it is now."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    aside = FOLDER / f"{moment}-{path.name}"
    shutil.move(path, aside)
    return aside


def report(line: str) -> None:
    """Print what was done, or why the run stopped."""
    print(f"run: {line}", file=sys.stderr, flush=True)  # noqa: T201 (what a person has to know)
