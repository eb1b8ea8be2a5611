"""The pipeline's outputs, here and in DVC's cache, compared with dvc.lock."""

import hashlib
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.process import dvc_lock
from plumbline.process.files import read_json_object

FOLDER_SUFFIX = ".dir"  # of the digest of a folder


def check_outputs(*, full: bool) -> Iterator[DiagnosticResult]:
    """Compare the outputs with dvc.lock.

    DVC trusts a file whose size and time it has seen, and an object that is read-only; `full` reads
    the bytes of both.
    """
    dvc_lock.check_files()
    from dvc.repo import Repo

    with tempfile.TemporaryDirectory(prefix="plumbline-") as nothing_seen:
        config = {"core": {"site_cache_dir": nothing_seen}} if full else None
        with Repo(config=config) as repo:
            yield from _check_repository(repo, full=full)


def _check_repository(repo: Any, *, full: bool) -> Iterator[DiagnosticResult]:
    outs = [out for out in repo.index.outs if out.hash_info or out.exists]
    if not dvc_lock.LOCK.exists():
        yield _report_no_lock([str(out) for out in outs if out.use_cache])
        return
    cached = [out for out in outs if out.use_cache and out.hash_info]
    if cached and not any(out.exists for out in cached):
        message = "none here, as in a fresh clone; `dvc pull` or `plumbline run` creates them"
        yield DiagnosticResult("outputs", True, message)
        return
    num_faults = 0
    for out in outs:
        for found in _check_output(out, full=full):
            num_faults += not found.ok
            yield found
    if not num_faults:
        how = "every byte" if full else "size and time; `plumbline doctor --full` reads every byte"
        yield DiagnosticResult("outputs", True, f"{len(outs)} as in dvc.lock ({how})")


def _report_no_lock(outs: list[str]) -> DiagnosticResult:
    """Say whether something was run here, of which the record is gone."""
    if not outs:
        return DiagnosticResult("outputs", True, "no dvc.lock: nothing was run here yet")
    message = f"no dvc.lock, so nothing says what these should be: {', '.join(outs)}"
    remedy = "`git checkout dvc.lock` to restore what was recorded, or `dvc repro` to run all again"
    return DiagnosticResult("outputs", False, message, remedy)


def _check_output(out: Any, *, full: bool) -> Iterator[DiagnosticResult]:
    """Check an output here, and the objects from which it would be restored."""
    if full and out.use_cache and out.hash_info:
        damaged = _find_damaged_objects(out)
        for name, path in damaged.items():
            remedy = f"`rm -f {shlex.quote(str(path))}`, then {_restore_object(out)}"
            message = f"the object of {name} is damaged in the cache"
            yield DiagnosticResult("cache", False, message, remedy)
        if damaged:
            return
    for state in out.status().values():
        if state != "deleted" and _is_refusal_record(str(out)):
            yield _report_refusal(out)
        elif state == "not in cache":
            message = f"{out} is not in the cache, or not as a whole"
            yield DiagnosticResult("cache", False, message, _restore_object(out))
        else:
            yield DiagnosticResult("outputs", False, *_report_difference(out, state))


def _report_difference(out: Any, state: str) -> tuple[str, str]:
    """Return what differs here, and how to get back what was recorded.

    What differs is removed first: DVC leaves a file alone whose size and time it has seen.
    """
    path = shlex.quote(str(out))
    again = f"`dvc repro --force --single-item {out.stage.addressing}` to make it again"
    if not out.hash_info:
        message = f"{out} exists, but dvc.lock does not name it"
        return message, f"`git checkout dvc.lock` to restore what was recorded, {again}"
    message = f"{out} is missing here" if state == "deleted" else f"{out} differs from dvc.lock"
    restore = f"git checkout {path}"
    if out.use_cache:
        restore = f"rm -rf {path} && dvc checkout --force {path}"
    return message, f"`{restore}` to restore what was recorded, {again}"


def _restore_object(out: Any) -> str:
    stage = out.stage.addressing
    if not out.workspace_status():
        return f"`dvc commit --force {stage}`: what is here is intact"
    path = shlex.quote(str(out))
    return f"`rm -rf {path}`, then `dvc pull {stage}` if a remote has it, else `dvc repro {stage}`"


def _find_damaged_objects(out: Any) -> dict[str, Path]:
    """Find the objects whose bytes have another digest, by the name of their file."""
    objects = {str(out): out.hash_info.value}
    if out.hash_info.isdir and not _is_damaged(out, out.hash_info.value):
        listing = out.get_obj() or ()
        objects |= {f"{out}/{'/'.join(key)}": info.value for key, _, info in listing}
    damaged = {}
    for name, digest in objects.items():
        if _is_damaged(out, digest):
            damaged[name] = Path(out.cache.oid_to_path(digest))
    return damaged


def _is_damaged(out: Any, digest: str) -> bool:
    path = Path(out.cache.oid_to_path(digest))
    if not path.exists():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest() != digest.removesuffix(FOLDER_SUFFIX)


def _is_refusal_record(path: str) -> bool:
    """Whether this is the record of a refusal: DVC records only stages that succeed."""
    try:
        if path == str(layout.REGISTRATION):
            return read_json_object(layout.REGISTRATION).get("verdict") == "refuse"
        if path in (str(layout.VALIDATION), str(layout.VALIDATION_PAGE)):
            return read_json_object(layout.VALIDATION).get("accepted") is False
    except (OSError, ValueError):
        pass
    return False


def _report_refusal(out: Any) -> DiagnosticResult:
    """Warn that a file is of a stage that refused: dvc.lock has that of the run before."""
    message = f"{out} is the record of a refusal, not of the run in dvc.lock"
    remedy = (
        f"nothing, if `{out.stage.addressing}` refused as `plumbline report` says; else `dvc repro "
        f"--force --single-item {out.stage.addressing}` to make it again"
    )
    return DiagnosticResult("outputs", True, message, remedy)
