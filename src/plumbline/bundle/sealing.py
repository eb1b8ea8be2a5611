"""Write `bundle.json`, the seal of a bundle."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from plumbline.bundle.seal_format import FORMAT, SEAL
from plumbline.bundle.verification import digest, list_code, verify
from plumbline.contract.task import Signature, Task
from plumbline.process.files import digest_path, read_json, write_json

CONFIG = "config.json"  # that a task leaves beside its weights


def seal(
    folder: Path, task: Task[Any], candidate: str, source: Mapping[str, Any] | None = None
) -> str:
    """Copy the task's predictor into `folder`, record what is in it, return the bundle's digest.

    `source` says how the files were read that it learned from (`Params.describe_source`).
    """
    for name, path in list_code(task.predictor).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(path.read_bytes())
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    sealed = {
        "format": FORMAT,
        "task": task.name,
        "candidate": candidate,
        "signature": asdict(_choose_outputs(task.signature, folder)),
        "example": dict(task.example),
        "files": {name: digest_path(folder / name) for name in names - {SEAL}},
    }
    if source:
        sealed["source"] = dict(source)
    write_json(folder / SEAL, sealed)
    for name in names:  # safetensors writes files that other users, such as an image's, cannot read
        (folder / name).chmod((folder / SEAL).stat().st_mode)
    verify(folder)
    return digest(folder)


def _choose_outputs(signature: Signature, folder: Path) -> Signature:
    """Return `signature` with the outputs that config.json in `folder` names, all required."""
    config = read_json(folder / CONFIG) if (folder / CONFIG).exists() else {}
    named = config.get("outputs", []) if isinstance(config, dict) else []
    outputs = [
        replace(field, required=True)
        for field in signature.outputs
        if field.required or field.name in named
    ]
    return replace(signature, outputs=tuple(outputs))
