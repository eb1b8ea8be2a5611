"""What the package of a model requires, and which modules are installed here for other reasons."""

from collections.abc import Iterable
from functools import cache
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ALWAYS = ("mlflow", "pandas")  # what pyfunc.py imports itself


def pin_versions(names: Iterable[str]) -> list[str]:
    """Pin what a predictor imports to the versions that it was measured with.

    Local labels such as +cpu are not part of a version.
    """
    pinned = []
    for name in sorted({*ALWAYS, *names}):
        pinned.append(f"{name}=={metadata.version(name).partition('+')[0]}")
    return pinned


@cache
def list_other_modules(names: tuple[str, ...]) -> list[str]:
    """List the modules here that are in no package that a model requires, directly or not."""
    required = _find_all_required((*ALWAYS, *names))
    other = ["plumbline"]
    for module, packages in metadata.packages_distributions().items():
        if not required & {canonicalize_name(package) for package in packages}:
            other.append(module)
    return sorted(set(other))


def _find_all_required(names: Iterable[str]) -> set[str]:
    """Find the packages that `names` need, their extras and markers applied."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        requirement = waiting.pop()
        key = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if key in found:
            continue
        found.add(key)
        try:
            texts = metadata.requires(requirement.name) or []
        except metadata.PackageNotFoundError:
            continue  # a marker that is true here, of a package that nobody installed
        for needed in map(Requirement, texts):
            extras = ("", *requirement.extras)
            if not needed.marker or any(needed.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(needed)
    return {name for name, _ in found}
