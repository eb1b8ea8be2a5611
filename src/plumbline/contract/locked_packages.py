"""Installed packages beside the locks of the checkout, whose digests results have as theirs."""

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from plumbline.contract.errors import ParamsError

LOCKS = (Path("requirements.lock"), Path("requirements-cpu.lock"))
OTHER_BUILD = Path("requirements-cuda.lock")  # may pin another version of what the CPU's lock has
PINNED = re.compile(r"^([a-z0-9._-]+)==([^ \\;]+)(?= \\$)", re.MULTILINE)
MAX_NAMED = 5


def require_locked_versions() -> None:
    """Raise ParamsError where an installed package has another version than the locks say.

    What is not installed fails by itself, or is not needed.
    """
    different = [
        f"{name} {installed} (lock: {' or '.join(sorted(pins))})"
        for name, installed, pins in find_differences()
        if installed is not None
    ]
    if different:
        raise ParamsError(
            f"{len(different)} installed packages differ from the locks: "
            f"{', '.join(different[:MAX_NAMED])}; results would name locks that they do not come "
            "from. Run `make setup`, or lock other versions (`make lock`)"
        )


def find_differences() -> Iterator[tuple[str, str | None, set[str]]]:
    """Yield each package that is not as locked: its name, version (None: missing) and pins."""
    for name, pins in sorted(read_pins().items()):
        installed = _find_installed_version(name)
        if installed not in pins:
            yield name, installed, pins


def read_pins() -> dict[str, set[str]]:
    """Read the versions that the locks allow, of packages that every machine has."""
    pins = {name: {pin} for path in LOCKS for name, pin in _read(path)}
    for name, pin in _read(OTHER_BUILD):
        if name in pins:
            pins[name].add(pin)
    return pins


def _read(path: Path) -> list[tuple[str, str]]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return PINNED.findall(text)


def _find_installed_version(name: str) -> str | None:
    try:
        return version(name).partition("+")[0]  # a local label says which build of torch it is
    except PackageNotFoundError:
        return None
