"""The working tree and the DVC cache against dvc.lock."""

import json
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.diagnostics.finding import Finding

DVC_LOCK = Path("dvc.lock")


def outputs() -> list[Finding]:
    """The working tree and the cache against dvc.lock."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc.scm import SCMError

    if not DVC_LOCK.exists():
        return [Finding("outputs", True, "no dvc.lock: nothing was run here yet")]
    try:
        with Repo() as repo:
            outs = [
                out
                for out in repo.index.outs
                if (out.hash_info or out.exists) and not _refused(out)
            ]
            cached = [out for out in outs if out.use_cache and out.hash_info]
            if cached and not any(out.exists for out in cached):
                return [
                    Finding(
                        "outputs",
                        True,
                        "none here, as in a fresh clone; `dvc pull` or `dvc repro` makes them",
                    )
                ]
            faults = [*_tree(outs), *_cache(cached)]
            return faults or [
                Finding("outputs", True, f"{len(outs)} as in dvc.lock, here and in the cache")
            ]
    except (DvcException, SCMError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        remedy = "git checkout dvc.yaml dvc.lock, or remove dvc.lock to run everything anew"
        return [Finding("outputs", False, f"DVC cannot read its files: {reason}", remedy)]


def _tree(outs: list[Any]) -> Iterator[Finding]:
    for out in outs:
        for path, state in out.workspace_status().items():
            kept = f"dvc checkout --force {path}" if out.use_cache else f"git checkout {path}"
            said = "is missing here" if state == "deleted" else "is not what dvc.lock says"
            if not out.hash_info:
                kept, said = "git checkout dvc.lock", "is here, and dvc.lock does not know it"
            again = f"dvc repro --force --single-item {_stage(out)}"
            yield Finding(
                "outputs",
                False,
                f"{path} {said}",
                f"`{kept}` for what was recorded, `{again}` to make it anew",
            )


def _cache(outs: list[Any]) -> Iterator[Finding]:
    """Objects that dvc.lock names, read byte by byte: DVC itself trusts an object that is there."""
    seen = set()
    for out in outs:
        for oid, name in _objects(out):
            path = Path(out.cache.oid_to_path(oid))
            fault = None if oid in seen else _fault(path, oid)
            seen.add(oid)
            if fault:
                away = f"`rm -f {_short(path)}`, then " if path.exists() else ""
                again = f"`dvc pull {_stage(out)}` where a remote has it, else `dvc repro {_stage(out)}`"
                remedy = (
                    again
                    if out.workspace_status()
                    else f"`dvc commit --force {_stage(out)}`: it is sound here"
                )
                yield Finding("cache", False, f"the object of {name} {fault}", away + remedy)


def _objects(out: Any) -> Iterator[tuple[str, str]]:
    """The objects of an output, and what each is of; those in a folder only where its list can be read."""
    oid = out.hash_info.value
    yield oid, str(out)
    if oid.endswith(".dir"):
        path = Path(out.cache.oid_to_path(oid))
        if _fault(path, oid) is None:
            for item in json.loads(path.read_bytes()):
                yield item["md5"], f"{out}/{item['relpath']}"


def _refused(out: Any) -> bool:
    """Whether this is the record of a refusal: DVC writes down only stages that end well."""
    if str(out) != str(layout.REGISTRATION) or not layout.REGISTRATION.exists():
        return False
    try:
        return layout.read_json(layout.REGISTRATION)["version"] is None
    except (ValueError, KeyError, TypeError):
        return False


def _fault(path: Path, oid: str) -> str | None:
    if not path.exists():
        return "is not in the cache"
    with path.open("rb") as file:
        total = md5(usedforsecurity=False)
        while block := file.read(1 << 20):
            total.update(block)
    return None if total.hexdigest() == oid.removesuffix(".dir") else "is damaged in the cache"


def _stage(out: Any) -> str:
    return str(out.stage.addressing)


def _short(path: Path) -> Path:
    here = Path.cwd().resolve()
    return path.relative_to(here) if path.is_relative_to(here) else path
