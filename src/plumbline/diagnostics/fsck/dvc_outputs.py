"""The working tree and the DVC cache compared with dvc.lock."""

import json
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.diagnostics.result import DiagnosticResult

DVC_LOCK = Path("dvc.lock")
BLOCK_BYTES = 1 << 20


def check_outputs() -> list[DiagnosticResult]:
    """Compare the working tree and the cache with dvc.lock."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc.scm import SCMError

    if not DVC_LOCK.exists():
        return [DiagnosticResult("outputs", True, "no dvc.lock: nothing was run here yet")]
    try:
        with Repo() as repo:
            return _check_repository(repo)
    except (DvcException, SCMError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        remedy = "git checkout dvc.yaml dvc.lock, or remove dvc.lock to run everything again"
        return [DiagnosticResult("outputs", False, f"DVC cannot read its files: {reason}", remedy)]


def _check_repository(repo: Any) -> list[DiagnosticResult]:
    outs = []
    for out in repo.index.outs:
        if (out.hash_info or out.exists) and not _is_refusal_record(out):
            outs.append(out)
    cached = [out for out in outs if out.use_cache and out.hash_info]
    if cached and not any(out.exists for out in cached):
        message = "none here, as in a fresh clone; `dvc pull` or `dvc repro` creates them"
        return [DiagnosticResult("outputs", True, message)]
    faults = [*_check_working_tree(outs), *_check_cache(cached)]
    if faults:
        return faults
    return [DiagnosticResult("outputs", True, f"{len(outs)} as in dvc.lock, here and in the cache")]


def _check_working_tree(outs: list[Any]) -> Iterator[DiagnosticResult]:
    for out in outs:
        for path, state in out.workspace_status().items():
            restore = f"dvc checkout --force {path}" if out.use_cache else f"git checkout {path}"
            fault = "is missing here" if state == "deleted" else "differs from dvc.lock"
            if not out.hash_info:
                restore = "git checkout dvc.lock"
                fault = "exists, but dvc.lock does not name it"
            rerun = f"dvc repro --force --single-item {_name_stage(out)}"
            remedy = f"`{restore}` to restore what was recorded, `{rerun}` to make it again"
            yield DiagnosticResult("outputs", False, f"{path} {fault}", remedy)


def _check_cache(outs: list[Any]) -> Iterator[DiagnosticResult]:
    """Objects that dvc.lock names, read byte by byte: DVC itself trusts an object that exists."""
    checked: set[str] = set()
    for out in outs:
        for oid, name in _list_objects(out):
            if oid in checked:
                continue
            checked.add(oid)
            path = Path(out.cache.oid_to_path(oid))
            fault = _find_object_fault(path, oid)
            if fault:
                message = f"the object of {name} {fault}"
                yield DiagnosticResult("cache", False, message, _choose_cache_remedy(out, path))


def _choose_cache_remedy(out: Any, path: Path) -> str:
    stage = _name_stage(out)
    if out.workspace_status():
        restore = f"`dvc pull {stage}` if a remote has it, else `dvc repro {stage}`"
    else:
        restore = f"`dvc commit --force {stage}`: the file here is intact"
    if path.exists():
        return f"`rm -f {_shorten_path(path)}`, then {restore}"
    return restore


def _list_objects(out: Any) -> Iterator[tuple[str, str]]:
    """The id of each object of an output, and the file it holds.

    Objects in a folder are listed only where the folder's own object can be read.
    """
    oid = out.hash_info.value
    yield oid, str(out)
    if oid.endswith(".dir"):
        path = Path(out.cache.oid_to_path(oid))
        if _find_object_fault(path, oid) is None:
            for item in json.loads(path.read_bytes()):
                yield item["md5"], f"{out}/{item['relpath']}"


def _is_refusal_record(out: Any) -> bool:
    """Whether this is the record of a refusal: DVC records only stages that succeed."""
    if str(out) != str(layout.REGISTRATION) or not layout.REGISTRATION.exists():
        return False
    try:
        return layout.read_json(layout.REGISTRATION)["version"] is None
    except (ValueError, KeyError, TypeError):
        return False


def _find_object_fault(path: Path, oid: str) -> str | None:
    if not path.exists():
        return "is not in the cache"
    total = md5(usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            total.update(block)
    return None if total.hexdigest() == oid.removesuffix(".dir") else "is damaged in the cache"


def _name_stage(out: Any) -> str:
    return str(out.stage.addressing)


def _shorten_path(path: Path) -> Path:
    here = Path.cwd().resolve()
    return path.relative_to(here) if path.is_relative_to(here) else path
