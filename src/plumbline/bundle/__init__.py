"""What a trained model is on disk: a folder of plain files, its own predictor code, and a digest of each.

Nothing of a bundle is imported, or read by a library, before `verify` has looked at every byte of it.
"""

import hashlib
import sys
import tempfile
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from plumbline.bundle import files, kinds, sealing
from plumbline.bundle.sealing import FORMAT, SEAL
from plumbline.contract import layout
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Predictor, Signature, Task

__all__ = ["FORMAT", "SEAL", "digest", "load", "num_bytes", "seal", "signature", "verify"]
CODE = "predictor.py"


def seal(folder: Path, task: Task, candidate: str) -> str:
    """Copy the task's predictor into `folder`, record what is in it, and return the bundle's digest."""
    (folder / CODE).write_bytes(task.predictor.read_bytes())
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    sealed = {
        "format": FORMAT,
        "task": task.name,
        "candidate": candidate,
        "signature": asdict(task.signature),
        "example": dict(task.example),
        "files": {name: layout.digest(folder / name) for name in names - {SEAL}},
    }
    layout.write_json(folder / SEAL, sealed)
    verify(folder)
    return digest(folder)


def digest(folder: Path) -> str:
    """The digest that names a bundle: that of its seal, which names every file in it."""
    try:
        return layout.digest(folder / SEAL)
    except OSError:
        raise BundleError(
            f"{folder}: there is no {SEAL}; train the candidate (dvc repro)"
        ) from None


def verify(folder: Path, named: Path | None = None) -> dict[str, Any]:
    """Return the seal of `folder` if that names each file there, and no other, and none can do harm by being read.

    BundleError names the file that is missing, changed, of another kind than its name says, or does not belong; it
    calls the folder `named` where that is more telling.
    """
    return _verified(folder, named or folder)[0]


def load(folder: Path, form: str | None = None, expected: str | None = None) -> Predictor:
    """Verify `folder`, then answer with the predictor that its predictor.py builds, in the form served or in `form`.

    Where a digest is `expected`, no other bundle is loaded.

    What is verified is what is loaded: a folder that others can write to is copied to a private place first. That copy
    is gone when this returns, so a predictor reads its files while it is built.
    """
    with steady(folder) as place:
        _, code, sealed = _verified(place, folder)
        if expected not in (None, sealed):
            raise BundleError(f"{folder}: is another bundle than {expected}; do not use it")
        module = types.ModuleType(f"plumbline_predictor_{sealed[:16]}")
        module.__file__ = str(place / CODE)
        sys.modules[module.__name__] = module
        try:
            compiled = compile(code, str(folder / CODE), "exec")
        except (SyntaxError, ValueError) as error:
            raise BundleError(f"{folder / CODE}: is no Python source ({error})") from None
        exec(compiled, module.__dict__)  # noqa: S102  verified above; no bytecode cache is read
        return cast(Predictor, module.load(place, form))


@contextmanager
def steady(folder: Path) -> Iterator[Path]:
    """The folder, or a private copy of it where another user could change it between a look and the next."""
    if files.private(folder):
        yield folder.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-") as place:
        files.copy(folder, copy := Path(place) / "bundle")
        yield copy


def signature(folder: Path) -> Signature:
    """What the predictor in `folder` takes and gives, as its seal says."""
    with files.opened(folder) as found:
        told = sealing.parse(_read(found[SEAL], folder / SEAL, sealing.MAX_SEAL), folder / SEAL)
    return sealing.signature(told["signature"])


def num_bytes(folder: Path) -> int:
    """The size of all files in the bundle."""
    with files.opened(folder) as found:
        return sum(map(files.size, found.values()))


def _verified(folder: Path, named: Path) -> tuple[dict[str, Any], bytes, str]:
    """The seal, the predictor's code and the seal's digest; in errors the folder is called `named`."""
    with files.opened(folder, named) as found:
        raw = _read(found[SEAL], named / SEAL, sealing.MAX_SEAL)
        told = sealing.parse(raw, named / SEAL)
        for name in sorted(set(told["files"]) ^ (set(found) - {SEAL})):
            missing = name in told["files"]
            raise BundleError(
                f"{named / name}: {'missing' if missing else 'does not belong to the bundle'}"
            )
        for name, expected in sorted(told["files"].items()):
            _check(found[name], name, expected, named / name)
        code = _read(found[CODE], named / CODE, kinds.MAX_CODE)
        return told, code, hashlib.sha256(raw).hexdigest()


def _check(file: BufferedReader, name: str, expected: str, path: Path) -> None:
    if hashlib.file_digest(file, "sha256").hexdigest() != expected:
        raise BundleError(f"{path}: changed since the bundle was sealed")
    try:
        kinds.check(name, file)
    except UnicodeDecodeError:
        raise BundleError(f"{path}: is no text in UTF-8; do not use this bundle") from None
    except ValueError as error:
        raise BundleError(f"{path}: {error}; do not use this bundle") from None


def _read(file: BufferedReader, path: Path, limit: int) -> bytes:
    file.seek(0)
    if len(raw := file.read(limit + 1)) > limit:
        raise BundleError(f"{path}: more than {limit:,} bytes; do not use this bundle")
    return raw
