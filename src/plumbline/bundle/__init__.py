"""What a trained model is on disk: plain files, its own predictor code, and a digest of each.

Nothing of a bundle is imported, or read by a library, before `verify` has looked at every byte.
"""

import hashlib
import sys
import tempfile
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from plumbline.bundle import files, kinds, sealing
from plumbline.bundle.sealing import FORMAT, SEAL
from plumbline.contract import layout
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Predictor, Signature, Task

__all__ = [
    "FORMAT",
    "SEAL",
    "check_code",
    "digest",
    "load",
    "num_bytes",
    "read_signature",
    "require_digest",
    "seal",
    "verify",
]
CODE = "predictor.py"
CONFIG = "config.json"  # that a task leaves beside its weights


def seal(folder: Path, task: Task[Any], candidate: str) -> str:
    """Copy the task's predictor into `folder`, record what is in it, return the bundle's digest.

    A model that has optional outputs of the task names them under `outputs` in its config.json.
    """
    (folder / CODE).write_bytes(task.predictor.read_bytes())
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    sealed = {
        "format": FORMAT,
        "task": task.name,
        "candidate": candidate,
        "signature": asdict(_choose_outputs(task.signature, folder)),
        "example": dict(task.example),
        "files": {name: layout.digest(folder / name) for name in names - {SEAL}},
    }
    layout.write_json(folder / SEAL, sealed)
    verify(folder)
    return digest(folder)


def _choose_outputs(signature: Signature, folder: Path) -> Signature:
    """Return `signature` with the outputs that the model in `folder` has, all of them required."""
    path = folder / CONFIG
    config = layout.read_json(path) if path.exists() else {}
    named = config.get("outputs", []) if isinstance(config, dict) else []
    outputs = [
        replace(field, required=True)
        for field in signature.outputs
        if field.required or field.name in named
    ]
    return replace(signature, outputs=tuple(outputs))


def digest(folder: Path) -> str:
    """The digest that names a bundle: that of its seal, which names every file in it."""
    try:
        return layout.digest(folder / SEAL)
    except OSError:
        raise BundleError(
            f"{folder}: there is no {SEAL}; train the candidate (dvc repro)"
        ) from None


def verify(folder: Path, label: Path | None = None) -> dict[str, Any]:
    """Return the seal of `folder` if it names each file there, no other, and all are safe to read.

    BundleError names the file that is missing, changed, of another kind than its name says, or
    does not belong. In errors the folder is called `label`.
    """
    return _verify_files(folder, label or folder)[0]


def require_digest(folder: Path, expected: str, label: Path | None = None) -> None:
    """BundleError where `folder` is not, byte for byte, the bundle with the digest `expected`.

    In errors the folder is called `label`.
    """
    actual = _verify_files(folder, label or folder)[2]
    _compare_digests(expected, actual, label or folder)


def check_code(folder: Path, task: Task[Any]) -> None:
    """BundleError where the predictor that the seal in `folder` names is not that of `task`.

    Nothing in the folder is run. `load` refuses a predictor.py that the seal does not name.
    """
    expected = layout.digest(task.predictor)
    actual = _read_seal(folder)["files"][CODE]
    if actual != expected:
        raise BundleError(
            f"{folder / CODE}: predictor digest mismatch: expected {expected[:12]}, the predictor "
            f"of the task {task.name}, found {actual[:12]}; train the candidate again (dvc repro)"
        )


def load(folder: Path, form: str | None = None, expected: str | None = None) -> Predictor:
    """Verify `folder`, then build the predictor of its predictor.py, in the form served or `form`.

    Where a digest is `expected`, no other bundle is loaded.

    What is verified is what is loaded: a folder that others can write to is copied to a private
    place first. That copy is gone when this returns, so a predictor reads its files while it is
    built.
    """
    with ensure_private(folder) as private:
        _, code, actual = _verify_files(private, folder)
        if expected is not None:
            _compare_digests(expected, actual, folder)
        module = types.ModuleType(f"plumbline_predictor_{actual[:16]}")
        module.__file__ = str(private / CODE)
        sys.modules[module.__name__] = module
        try:
            compiled = compile(code, str(folder / CODE), "exec")
        except (SyntaxError, ValueError) as error:
            raise BundleError(f"{folder / CODE}: not valid Python source ({error})") from None
        exec(compiled, module.__dict__)  # noqa: S102  verified above; no bytecode cache is read
        return cast(Predictor, module.load(private, form))


@contextmanager
def ensure_private(folder: Path) -> Iterator[Path]:
    """The folder, or a private copy of it where another user could change it while it is used."""
    if files.is_private(folder):
        yield folder.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        copy = Path(private) / "bundle"
        files.copy_files(folder, copy)
        yield copy


def read_signature(folder: Path) -> Signature:
    """Read from the seal which inputs the predictor takes and which answers it gives."""
    return sealing.parse_signature(_read_seal(folder)["signature"])


def num_bytes(folder: Path) -> int:
    """The size of all files in the bundle."""
    with files.open_files(folder) as opened:
        return sum(map(files.measure_file, opened.values()))


def _read_seal(folder: Path) -> dict[str, Any]:
    with files.open_files(folder) as opened:
        raw = _read_bounded(opened[SEAL], folder / SEAL, sealing.MAX_SEAL)
    return sealing.parse_seal(raw, folder / SEAL)


def _verify_files(folder: Path, label: Path) -> tuple[dict[str, Any], bytes, str]:
    """The seal, the predictor's code and the seal's digest; errors call the folder `label`."""
    with files.open_files(folder, label) as opened:
        raw = _read_bounded(opened[SEAL], label / SEAL, sealing.MAX_SEAL)
        sealed = sealing.parse_seal(raw, label / SEAL)
        _check_names(set(sealed["files"]), set(opened) - {SEAL}, label)
        for name, expected in sorted(sealed["files"].items()):
            _check_file(opened[name], name, expected, label / name)
        code = _read_bounded(opened[CODE], label / CODE, kinds.MAX_CODE)
        return sealed, code, hashlib.sha256(raw).hexdigest()


def _compare_digests(expected: str, actual: str, label: Path) -> None:
    if actual != expected:
        raise BundleError(
            f"{label}: bundle digest mismatch: expected {expected[:12]}, which was measured, found "
            f"{actual[:12]}; do not use it; in a checkout, `dvc repro` makes it again"
        )


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
