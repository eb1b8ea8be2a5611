"""What a trained model is on disk: a folder of plain files, its own predictor code, and a digest of each."""

import sys
import types
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from plumbline import layout
from plumbline.contract import Field, Param, Predictor, Signature, Task
from plumbline.errors import BundleError

SEAL = "bundle.json"
FORMAT = 2
ALLOWED = {".json", ".safetensors", ".onnx", ".py", ".txt"}  # none can run code when it is read, save predictor.py


def seal(folder: Path, task: Task, candidate: str) -> str:
    """Copy the task's predictor into `folder`, record what is in it, and return the bundle's digest."""
    (folder / "predictor.py").write_bytes(task.predictor.read_bytes())
    files = {name: layout.digest(folder / name) for name in _names(folder) - {SEAL}}
    sealed = {
        "format": FORMAT,
        "task": task.name,
        "candidate": candidate,
        "signature": asdict(task.signature),
        "example": dict(task.example),
        "files": files,
    }
    layout.write_json(folder / SEAL, sealed)
    verify(folder)
    return digest(folder)


def digest(folder: Path) -> str:
    """The digest that names a bundle: that of its seal, which names every file in it."""
    try:
        return layout.digest(folder / SEAL)
    except OSError:
        raise BundleError(f"{folder}: there is no {SEAL}; train the candidate (dvc repro)") from None


def verify(folder: Path) -> dict[str, Any]:
    """Return the seal of `folder` if it names each file there, and no other; else raise BundleError."""
    try:
        found: dict[str, Any] = layout.read_json(folder / SEAL)
        version, files = found["format"], dict(found["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BundleError(f"{folder}: {SEAL} is missing or damaged ({error}); train the candidate again") from None
    if version != FORMAT:
        raise BundleError(f"{folder}: bundle format {version!r}; this version of plumbline reads {FORMAT}")
    for name in sorted(set(files) ^ (_names(folder) - {SEAL})):
        raise BundleError(f"{folder / name}: {'missing' if name in files else 'does not belong to the bundle'}")
    for name, expected in sorted(files.items()):
        path = folder / name
        if path.is_symlink() or path.suffix not in ALLOWED:
            raise BundleError(f"{path}: {'links are' if path.is_symlink() else 'this kind of file is'} not allowed")
        if layout.digest(path) != expected:
            raise BundleError(f"{path}: changed since the bundle was sealed")
    return found


def load(folder: Path, form: str | None = None) -> Predictor:
    """Verify `folder`, then answer with the predictor that its predictor.py builds, in the form served or in `form`."""
    verify(folder)
    code = folder / "predictor.py"
    module = types.ModuleType(f"plumbline_predictor_{digest(folder)[:16]}")
    module.__file__ = str(code)
    sys.modules[module.__name__] = module
    exec(compile(code.read_bytes(), str(code), "exec"), module.__dict__)  # noqa: S102  verified above; no bytecode cache is read
    return cast(Predictor, module.load(folder, form))


def signature(folder: Path) -> Signature:
    """What the predictor in `folder` takes and gives, as the task says."""
    found = verify(folder)["signature"]
    inputs, outputs = (tuple(Field(**field) for field in found[side]) for side in ("inputs", "outputs"))
    return Signature(inputs, outputs, tuple(Param(**param) for param in found["params"]))


def num_bytes(folder: Path) -> int:
    """The size of all files in the bundle."""
    return sum((folder / name).stat().st_size for name in _names(folder))


def _names(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()}
