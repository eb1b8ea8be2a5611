"""Compare installed packages with the lock files, whose digests are recorded with results."""

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from plumbline.contract.errors import ParamsError

LOCKS = (Path("requirements.lock"), Path("requirements-cpu.lock"))
OTHER_BUILD = Path("requirements-cuda.lock")  # may pin another version of what the CPU's lock has
PINNED = re.compile(r"^[a-z0-9._-]+==[^\\\n]+", re.MULTILINE)  # up to the hashes
MAX_NAMED = 5


def require_locked_versions() -> None:
    """Raise ParamsError where an installed package has another version than the locks say.

    What is not installed fails by itself, or is not needed.
    """
    different = describe_differences(installed_only=True)
    if different:
        raise ParamsError(
            f"{len(different)} installed packages differ from the locks: "
            f"{', '.join(different[:MAX_NAMED])}; results would name locks that they do not come "
            "from. Run `make setup`, or lock other versions (`make lock`)"
        )


def describe_differences(*, installed_only: bool) -> list[str]:
    """Describe each package that is not as locked: its name, its version and the pins."""
    different = []
    for name, pins in sorted(read_pins().items()):
        installed = _find_installed_version(name)
        if installed in pins or (installed is None and installed_only):
            continue
        different.append(f"{name} {installed or 'missing'} (lock: {' or '.join(sorted(pins))})")
    return different


def read_pins() -> dict[str, set[str]]:
    """Read the versions that the locks allow, of packages that this machine has or must have."""
    pins = {name: {pin} for path in LOCKS for name, pin in _read(path)}
    for name, pin in _read(OTHER_BUILD):
        if name in pins or _find_installed_version(name):
            pins.setdefault(name, set()).add(pin)
    return pins


def _read(path: Path) -> Iterator[tuple[str, str]]:
    """Yield names and versions, without those for another Python or another system."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for line in PINNED.findall(text):
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            raise ParamsError(
                f"{path}: not a valid requirement: {line.strip()}; `git checkout {path}`, or lock "
                "again (`make lock`)"
            ) from None
        if requirement.marker is None or requirement.marker.evaluate():
            (pin,) = requirement.specifier
            yield requirement.name, _strip_build(pin.version)


def _find_installed_version(name: str) -> str | None:
    try:
        return _strip_build(version(name))
    except PackageNotFoundError:
        return None


def _strip_build(pin: str) -> str:
    """Remove what says which build of torch it is, such as `+cpu`."""
    return pin.partition("+")[0]
