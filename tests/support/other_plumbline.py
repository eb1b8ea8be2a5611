"""A wheel of another plumbline: the one that is built here, with other files and version."""

import re
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import PathDistribution
from pathlib import Path

from plumbline.init import wheel

OLDER, LATER = "0.0.9", "9.0.0"
REPOSITORY = "plumbline/init/repository"  # what `plumbline init` writes
# How the older one differed: it had a parameter less, other words, other packages.
CHANGES: Mapping[str, Sequence[tuple[str, str]]] = {
    "plumbline/contract/params.py": [
        ("    max_slice_loss: Annotated[float, Field(ge=0)]  #", "    #")
    ],
    f"{REPOSITORY}/recipes/text_classification.yaml": [
        ("  max_slice_loss: 0.02          # no group may", "  # No group may")
    ],
    f"{REPOSITORY}/Makefile": [("list the targets", "list all targets")],
    f"{REPOSITORY}/requirements.lock": [("alembic==", "alembic==1.")],
    f"{REPOSITORY}/template/README.md": [
        ("You need git, make, Python", "What you need: git, make, Python")
    ],
}

# And a file more.
RETIRED = "retired.sh"
ADDED = {f"{REPOSITORY}/template/{RETIRED}": "#!/bin/sh\necho retired\n"}


def write_other_wheel(
    built: Path,
    folder: Path,
    version: str,
    changes: Mapping[str, Sequence[tuple[str, str]]],
    added: Mapping[str, str] | None = None,
) -> Path:
    """Write the wheel `built`, with other texts in its files and further files, into `folder`."""
    site = unpack(built, folder / "site")
    for name, text in (added or {}).items():
        (site / name).write_text(text, encoding="utf-8")
    for name, replacements in changes.items():
        text = (site / name).read_text(encoding="utf-8")
        for old, new in replacements:
            assert text.count(old) == 1, f"{name}: {text.count(old)} times: {old!r}"
            text = text.replace(old, new)
        (site / name).write_text(text, encoding="utf-8")
    (about,) = site.glob("*.dist-info")
    other = about.with_name(f"plumbline-{version}.dist-info")
    about.rename(other)
    metadata = (other / "METADATA").read_text(encoding="utf-8")
    metadata = re.sub(r"(?m)^Version: .*$", f"Version: {version}", metadata, count=1)
    (other / "METADATA").write_text(metadata, encoding="utf-8")
    names = [path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()]
    (other / "RECORD").write_text("".join(f"{name},,\n" for name in names), encoding="utf-8")
    return wheel.pack(PathDistribution(other), folder, {})


def unpack(built: Path, site: Path) -> Path:
    """Unpack a wheel, which is all that an installation of it is where nothing else is needed."""
    with zipfile.ZipFile(built) as archive:
        archive.extractall(site)
    return site
