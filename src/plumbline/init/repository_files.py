"""The files of plumbline's repository that a user's is made of."""

import tomllib
from pathlib import Path

from plumbline.contract.errors import PlumblineError

CARRIED = Path(__file__).parent / "repository"  # in a wheel: setup.py
CHECKOUT = Path(__file__).parents[3]
PROJECT = "pyproject.toml"


def find_root() -> Path:
    """Return the folder that has the files: inside a wheel, or the source checkout."""
    for root in (CARRIED, CHECKOUT):
        if (root / PROJECT).is_file() and (root / "template").is_dir():
            return root
    raise PlumblineError(
        f"{CARRIED}: no such folder: this installation of plumbline has no templates; install the "
        "wheel that `make dist` builds"
    )


def is_checkout() -> bool:
    """Whether plumbline runs from a source checkout."""
    return find_root() == CHECKOUT


def list_carried(root: Path) -> list[Path]:
    """List the files that `[tool.plumbline] carried` names, relative to `root`."""
    project = tomllib.loads((root / PROJECT).read_text(encoding="utf-8"))
    patterns = project["tool"]["plumbline"]["carried"]
    paths = {path for pattern in patterns for path in root.glob(pattern)}
    return sorted(
        path.relative_to(root) for path in paths if path.is_file() and path.suffix != ".pyc"
    )
