"""Plumbline's own wheel: built from a source checkout, or packed again from what is installed.

A repository that `plumbline init` makes holds the wheel it was made with, so that it installs
without an index that has plumbline.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, PackagePath, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from plumbline.contract.errors import PlumblineError
from plumbline.init import repository_files

BUILT_AT = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can state
EPOCH = "315532800"  # the same, for setuptools
# What `pip wheel` would call, in half the time.
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
# What an installer adds to the files of a wheel.
INSTALLED = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json")


def write_wheel(folder: Path) -> Path:
    """Write the wheel of this plumbline into `folder`; equal files give an equal wheel.

    Raises PlumblineError where the build fails.
    """
    if repository_files.is_checkout():
        return _build(repository_files.CHECKOUT, folder)
    return pack(distribution("plumbline"), folder)


def pack(installed: Distribution, folder: Path) -> Path:
    """Pack the files of an installed wheel again."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [file for file in installed.files or () if _is_of_wheel(file)]
    (about,) = {file.parts[0] for file in files if file.parts[0].endswith(".dist-info")}
    target = folder / f"{about.removesuffix('.dist-info')}-py3-none-any.whl"
    contents = {
        file.as_posix(): Path(str(installed.locate_file(file))).read_bytes()
        for file in sorted(files, key=str)
    }
    record = f"{about}/RECORD"
    lines = [f"{name},sha256={_digest(text)},{len(text)}" for name, text in contents.items()]
    contents[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in contents.items():
            _add(archive, name, content)
    return target


def digest_contents(wheel: Path) -> str:
    """Return a digest of the files in a wheel; packing them again does not change it."""
    with zipfile.ZipFile(wheel) as archive:
        (record,) = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
        lines = sorted(archive.read(record).splitlines())
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def _build(checkout: Path, folder: Path) -> Path:
    """Build in a copy: setuptools would also pack what an earlier build left."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        for path in _list_sources(checkout):
            (scratch / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / path, scratch / path)
        built = Path(scratch, "dist")
        done = subprocess.run(
            [sys.executable, "-P", "-c", BUILD, str(built)],
            cwd=scratch,
            env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PlumblineError(f"plumbline's wheel cannot be built: {done.stderr.strip()}")
        (wheel,) = built.glob("*.whl")
        return Path(shutil.copy2(wheel, folder))


def _list_sources(checkout: Path) -> list[Path]:
    packages = [path.parent for path in (checkout / "src").glob("*/__init__.py")]
    files = [path for package in packages for path in package.rglob("*") if path.is_file()]
    sources = [path.relative_to(checkout) for path in files if path.suffix != ".pyc"]
    others = [Path(name) for name in ("setup.py", "README.md", "LICENSE")]
    return [*sources, *others, *repository_files.list_carried(checkout)]


def _is_of_wheel(file: PackagePath) -> bool:
    """Whether a file was in the wheel; scripts in bin/ and bytecode are made on installation."""
    is_outside = ".." in file.parts
    is_added = file.parts[0].endswith(".dist-info") and file.name in INSTALLED
    return not (is_outside or is_added or file.suffix == ".pyc")


def _digest(content: bytes) -> str:
    """Return the SHA-256 as a wheel's RECORD states it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, BUILT_AT)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
