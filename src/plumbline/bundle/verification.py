"""Check every byte of a bundle against its seal, before anything of it is imported or parsed."""

import hashlib
from io import BufferedReader
from pathlib import Path
from typing import Any

from plumbline.bundle import files, kinds, seal_format
from plumbline.bundle.seal_format import CODE, PACKAGE, SEAL, is_code
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Signature, Task
from plumbline.process.files import digest_path


def verify(folder: Path, label: Path | None = None) -> dict[str, Any]:
    """Return the seal of `folder` if it names each file there, no other, and all are safe to read.

    BundleError names the file that is missing, changed, of another kind than its name says, or
    does not belong. In errors the folder is called `label`.
    """
    return verify_files(folder, label or folder)[0]


def digest(folder: Path) -> str:
    """The digest that names a bundle: that of its seal, which names every file in it."""
    try:
        return digest_path(folder / SEAL)
    except OSError:
        raise BundleError(f"{folder}: no {SEAL}; train the candidate (dvc repro)") from None


def require_digest(folder: Path, expected: str, label: Path | None = None) -> None:
    """BundleError where `folder` is not, byte for byte, the bundle with the digest `expected`.

    In errors the folder is called `label`.
    """
    actual = verify_files(folder, label or folder)[2]
    compare_digests(expected, actual, label or folder)


def check_code(folder: Path, task: Task[Any]) -> None:
    """BundleError where the predictor that the seal in `folder` names is not that of `task`.

    Nothing in the folder is run. `load` refuses a predictor that the seal does not name.
    """
    require_code(_read_seal(folder), folder, task)


def require_code(sealed: dict[str, Any], label: Path, task: Task[Any]) -> None:
    """BundleError where the predictor that `sealed`, the seal of a bundle, names is not `task`'s.

    In errors the bundle is called `label`.
    """
    expected = {name: digest_path(path) for name, path in list_code(task.predictor).items()}
    actual = {name: digest for name, digest in sealed["files"].items() if is_code(name)}
    for name in sorted(expected.keys() | actual.keys()):
        wanted, found = expected.get(name, "no such file"), actual.get(name, "no such file")
        if wanted != found:
            raise BundleError(
                f"{label / name}: predictor digest mismatch: expected {wanted[:12]}, the "
                f"predictor of the task {task.name}, found {found[:12]}; train the candidate again "
                "(dvc repro)"
            )


def list_code(predictor: Path) -> dict[str, Path]:
    """List the files of a task's predictor, one file or a package, by their names in a bundle."""
    if predictor.is_dir():
        return {f"{PACKAGE}/{path.name}": path for path in sorted(predictor.glob("*.py"))}
    return {CODE: predictor}


def read_signature(folder: Path) -> Signature:
    """Read from the seal which inputs the predictor takes and which answers it gives."""
    return seal_format.parse_signature(_read_seal(folder)["signature"])


def read_source(folder: Path) -> dict[str, Any]:
    """Read from the seal how the files were read that the model learned from.

    `columns` maps inputs, and `label`, to the names that the files have for them; where `encoding`
    is refuse, bytes that are not UTF-8 were refused. What is as usual is left out.
    """
    source: dict[str, Any] = _read_seal(folder).get("source", {})
    return source


def num_bytes(folder: Path) -> int:
    """The size of all files in the bundle."""
    with files.open_files(folder) as opened:
        return sum(map(files.measure_file, opened.values()))


def verify_files(folder: Path, label: Path) -> tuple[dict[str, Any], dict[str, bytes], str]:
    """Return the seal, the predictor's files and the seal's digest of a folder that is sound.

    In errors the folder is called `label`.
    """
    with files.open_files(folder, label) as opened:
        raw = _read_bounded(opened[SEAL], label / SEAL, seal_format.MAX_SEAL)
        sealed = seal_format.parse_seal(raw, label / SEAL)
        _check_names(set(sealed["files"]), set(opened) - {SEAL}, label)
        for name, expected in sorted(sealed["files"].items()):
            _check_file(opened[name], name, expected, label / name)
        code = {
            name: _read_bounded(file, label / name, kinds.MAX_CODE)
            for name, file in opened.items()
            if is_code(name)
        }
        return sealed, code, hashlib.sha256(raw).hexdigest()


def compare_digests(expected: str, actual: str, label: Path) -> None:
    """BundleError where the digest of the bundle called `label` is not the expected one."""
    if actual != expected:
        raise BundleError(
            f"{label}: bundle digest mismatch: expected {expected[:12]}, which was measured, found "
            f"{actual[:12]}; do not use it; in a checkout, `dvc repro` makes it again"
        )


def _read_seal(folder: Path) -> dict[str, Any]:
    with files.open_files(folder) as opened:
        raw = _read_bounded(opened[SEAL], folder / SEAL, seal_format.MAX_SEAL)
    return seal_format.parse_seal(raw, folder / SEAL)


def _check_names(sealed: set[str], present: set[str], label: Path) -> None:
    for name in sorted(sealed ^ present):
        reason = "missing" if name in sealed else "does not belong to the bundle"
        raise BundleError(f"{label / name}: {reason}")


def _check_file(file: BufferedReader, name: str, expected: str, path: Path) -> None:
    if hashlib.file_digest(file, "sha256").hexdigest() != expected:
        raise BundleError(f"{path}: changed since the bundle was sealed")
    try:
        kinds.check_kind(name, file)
    except UnicodeDecodeError:
        raise BundleError(f"{path}: not valid UTF-8; do not use this bundle") from None
    except ValueError as error:
        raise BundleError(f"{path}: {error}; do not use this bundle") from None


def _read_bounded(file: BufferedReader, path: Path, limit: int) -> bytes:
    file.seek(0)
    raw = file.read(limit + 1)
    if len(raw) > limit:
        raise BundleError(f"{path}: more than {limit:,} bytes; do not use this bundle")
    return raw
