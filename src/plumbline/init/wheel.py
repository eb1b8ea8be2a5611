"""Plumbline's own wheel, packed from a source checkout, or again from what is installed.

A repository that `plumbline init` makes holds the wheel it was made with, so that it installs
without an index that has plumbline.
"""

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from importlib.metadata import Distribution, PackagePath, distribution
from pathlib import Path

from plumbline.init import repository_files

BUILT_AT = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can state
ABOUT = ("METADATA", "WHEEL", "entry_points.txt", "top_level.txt", "LICENSE")
# Of a package in a checkout, as pyproject.toml says.
SUFFIXES = (".py", ".html", ".css", ".md", ".yaml", ".typed")


def write_wheel(folder: Path) -> Path:
    """Write the wheel of this plumbline into `folder`; equal files give an equal wheel."""
    sources: dict[str, Path] = {}
    if repository_files.find_root() == repository_files.CHECKOUT:
        sources = _list_sources(repository_files.CHECKOUT)
    return pack(distribution("plumbline"), folder, sources)


def pack(installed: Distribution, folder: Path, sources: Mapping[str, Path]) -> Path:
    """Pack the files of an installed wheel again, with `sources` where it is an editable one."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {
        file.as_posix(): Path(str(installed.locate_file(file)))
        for file in installed.files or ()
        if _is_of_wheel(file)
    }
    (about,) = {name.split("/")[0] for name in paths if name.split("/")[0].endswith(".dist-info")}
    target = folder / f"{about.removesuffix('.dist-info')}-py3-none-any.whl"
    contents = {name: path.read_bytes() for name, path in sorted({**paths, **sources}.items())}
    record = f"{about}/RECORD"
    lines = [f"{name},sha256={_digest(text)},{len(text)}" for name, text in contents.items()]
    contents[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name, BUILT_AT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return target


def digest_contents(wheel: Path) -> str:
    """Return a digest of the files in a wheel; packing them again does not change it."""
    with zipfile.ZipFile(wheel) as archive:
        (record,) = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
        lines = sorted(archive.read(record).splitlines())
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def _list_sources(checkout: Path) -> dict[str, Path]:
    """Return what `make dist` would put into the wheel, by its name there."""
    root = checkout / "src"
    packages = [path.parent for path in root.glob("*/__init__.py")]
    files = [path for package in packages for path in package.rglob("*")]
    own = {str(path.relative_to(root)): path for path in files if path.suffix in SUFFIXES}
    carried = repository_files.list_carried(checkout)
    return own | {f"plumbline/init/repository/{path}": checkout / path for path in carried}


def _is_of_wheel(file: PackagePath) -> bool:
    """Whether a file was in the wheel; the others are made on installation."""
    if file.parts[0].endswith(".dist-info"):
        return file.name in ABOUT
    is_editable = file.parts[0].startswith("__editable__")
    return not (is_editable or ".." in file.parts or file.suffix == ".pyc")


def _digest(content: bytes) -> str:
    """Return the SHA-256 as a wheel's RECORD states it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
