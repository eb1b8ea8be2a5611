"""The working tree and the DVC cache compared with dvc.lock, byte by byte.

DVC itself trusts a file whose size and time it has seen, and an object that exists.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics.fsck.recorded_outputs import (
    DVC_LOCK,
    FOLDER_SUFFIX,
    hash_file,
    hash_listing,
    hash_output,
    list_files,
)
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.process.files import digest_path, read_json
from plumbline.process.system_errors import explain_system_error


def check_outputs() -> list[DiagnosticResult]:
    """Compare the working tree and the cache with dvc.lock."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc.scm import SCMError

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
        if out.hash_info or out.exists:
            outs.append(out)
    if not DVC_LOCK.exists():
        return [_report_no_lock([str(out) for out in outs if out.use_cache])]
    cached = [out for out in outs if out.use_cache and out.hash_info]
    if cached and not any(out.exists for out in cached):
        message = "none here, as in a fresh clone; `dvc pull` or `dvc repro` creates them"
        return [DiagnosticResult("outputs", True, message)]
    objects = _Objects()
    found: list[DiagnosticResult] = []
    for out in outs:
        found += _check_readable_output(out, objects)
    if all(result.ok for result in found):  # each is the record of a refusal
        message = f"{len(outs) - len(found)} as in dvc.lock, here and in the cache"
        found.append(DiagnosticResult("outputs", True, message))
    return found


def _report_no_lock(outs: list[str]) -> DiagnosticResult:
    """Say whether something was run here, of which the record is gone."""
    if not outs:
        return DiagnosticResult("outputs", True, "no dvc.lock: nothing was run here yet")
    shown = ", ".join(outs[:3]) + (" ..." if len(outs) > 3 else "")
    message = f"no dvc.lock, so nothing says what these {len(outs)} should be: {shown}"
    remedy = "`git checkout dvc.lock` to restore what was recorded, or `dvc repro` to run all again"
    return DiagnosticResult("outputs", False, message, remedy)


class _Objects:
    """The objects of the cache, each read once."""

    def __init__(self) -> None:
        self._faults: dict[str, str | None] = {}

    def find_fault(self, out: Any, digest: str) -> str | None:
        if digest not in self._faults:
            self._faults[digest] = _find_object_fault(locate_object(out, digest), digest)
        return self._faults[digest]


def locate_object(out: Any, digest: str) -> Path:
    """Return where the cache of an output has the object of a digest."""
    return Path(out.cache.oid_to_path(digest))


def _check_readable_output(out: Any, objects: _Objects) -> list[DiagnosticResult]:
    """Check an output; one that the system does not let read hides no other."""
    try:
        return list(_check_output(out, objects))
    except OSError as error:
        fault, _, remedy = str(explain_system_error(error)).partition("; ")
        if not remedy or isinstance(error, FileNotFoundError):  # a link to nothing
            remedy = _format_rerun(out)
        return [DiagnosticResult("outputs", False, f"{out} cannot be read: {fault}", remedy)]


def _check_output(out: Any, objects: _Objects) -> Iterator[DiagnosticResult]:
    """Check an output here, and the objects from which it would be restored."""
    if not out.hash_info:
        if _is_refusal_record(out):
            yield _report_refusal(out)
            return
        remedy = f"`git checkout dvc.lock` to restore what was recorded, {_format_rerun(out)}"
        message = f"{out} exists, but dvc.lock does not name it"
        yield DiagnosticResult("outputs", False, message, remedy)
        return
    digest = out.hash_info.value
    files = _hash_files(out)
    is_intact = _is_intact(out, files)
    if not is_intact:
        is_refusal = _is_refusal_record(out)
        yield _report_refusal(out) if is_refusal else _report_difference(out, files, objects)
    if out.use_cache:
        yield from _check_objects(out, digest, objects, is_intact=is_intact)


def _hash_files(out: Any) -> dict[str, str] | None:
    """Return the digest of each file of a folder, that of a file under "", None without either."""
    path = Path(str(out))
    if not path.exists():
        return None
    if path.is_dir():
        return {name: hash_file(path / name) for name in list_files(path)}
    return {"": hash_output(path)}


def _is_intact(out: Any, files: dict[str, str] | None) -> bool:
    if files is None:
        return False
    actual = files[""] if "" in files else hash_listing(files)
    return bool(actual == out.hash_info.value)


def _report_difference(
    out: Any, files: dict[str, str] | None, objects: _Objects
) -> DiagnosticResult:
    """Say what differs here, and how to get back what was recorded.

    What differs is removed first: DVC leaves a file alone whose size and time it has seen.
    """
    if files is None:
        message = f"{out} is missing here"
        names = []
    else:
        names = _find_different_files(out, files, objects)
        shown = ", ".join(names[:3]) or f"{out}"
        message = f"{shown} differs from dvc.lock"
    remedy = f"{_choose_tree_remedy(out, names, objects)}, {_format_rerun(out)}"
    return DiagnosticResult("outputs", False, message, remedy)


def _choose_tree_remedy(out: Any, names: list[str], objects: _Objects) -> str:
    if not out.use_cache:
        return f"`git checkout {_quote(out)}` to restore what was recorded"
    recorded = [out.hash_info.value, *(_read_listing(out, objects) or {}).values()]
    if any(objects.find_fault(out, digest) for digest in recorded):
        return "first the remedy for its object in the cache"
    remove = shlex.join(["rm", "-rf", *(names or [str(out)])])
    restore = f"dvc checkout --force {_quote(out)}"
    if Path(str(out)).exists():
        restore = f"{remove} && {restore}"
    return f"`{restore}` to restore what was recorded"


def _find_different_files(out: Any, files: dict[str, str], objects: _Objects) -> list[str]:
    """Name the files of a folder that differ, where the cache knows which there were."""
    listing = _read_listing(out, objects) if out.use_cache else None
    if listing is None:
        return []
    different = [name for name, digest in files.items() if listing.get(name) != digest]
    different += [name for name in listing if name not in files]
    return [f"{out}/{name}" for name in sorted(different)]


def _read_listing(out: Any, objects: _Objects) -> dict[str, str] | None:
    """Return the recorded digest of each file of a folder; None where it cannot be read."""
    digest = out.hash_info.value
    if not digest.endswith(FOLDER_SUFFIX) or objects.find_fault(out, digest):
        return None
    items = json.loads(locate_object(out, digest).read_bytes())
    return {item["relpath"]: item["md5"] for item in items}


def _check_objects(
    out: Any, digest: str, objects: _Objects, *, is_intact: bool
) -> Iterator[DiagnosticResult]:
    listing = _read_listing(out, objects) or {}
    named = {digest: str(out)} | {each: f"{out}/{name}" for name, each in listing.items()}
    for each, name in named.items():
        fault = objects.find_fault(out, each)
        if fault:
            remedy = _choose_cache_remedy(out, locate_object(out, each), is_intact=is_intact)
            yield DiagnosticResult("cache", False, f"the object of {name} {fault}", remedy)


def _choose_cache_remedy(out: Any, path: Path, *, is_intact: bool) -> str:
    stage = _name_stage(out)
    if is_intact:
        restore = f"`dvc commit --force {stage}`: the file here is intact, as its bytes show"
    else:
        restore = (
            f"`rm -rf {_quote(out)}`, then `dvc pull {stage}` if a remote has it, "
            f"else `dvc repro {stage}`"
        )
    return f"`rm -f {_quote(_shorten_path(path))}`, then {restore}" if path.exists() else restore


def _is_refusal_record(out: Any) -> bool:
    """Whether this is the record of a refusal: DVC records only stages that succeed.

    It has to be about the evidence, or the data, that are here.
    """
    try:
        if str(out) == str(layout.REGISTRATION):
            return _is_refused_evidence(read_json(layout.REGISTRATION))
        if str(out) in (str(layout.VALIDATION), str(layout.VALIDATION_PAGE)):
            return _is_rejected_data(read_json(layout.VALIDATION))
    except (OSError, ValueError, LookupError, TypeError, PlumblineError):
        pass
    return False


def _is_refused_evidence(done: Mapping[str, Any]) -> bool:
    evidence = read_json(layout.EVIDENCE)
    is_here = done["evidence"] == digest_path(layout.EVIDENCE)
    is_refusal = done["verdict"] == evidence["verdict"] == "refuse"
    return is_here and is_refusal and done["version"] is None


def _is_rejected_data(report: Mapping[str, Any]) -> bool:
    checks = report["checks"]
    has_failed = any(each["severity"] == "blocking" and not each["passed"] for each in checks)
    for key, path in (("manifest", layout.MANIFEST), ("examples", layout.EXAMPLES)):
        if report[key] != digest_path(path):
            return False
    return report["accepted"] is False and has_failed


def _report_refusal(out: Any) -> DiagnosticResult:
    """Warn that a file is of a stage that refused: dvc.lock has that of the run before."""
    message = f"{out} is the record of a refusal, not of the run in dvc.lock"
    remedy = (
        f"nothing, if `{_name_stage(out)}` refused as `plumbline report` says; "
        f"else {_format_rerun(out)}"
    )
    return DiagnosticResult("outputs", True, message, remedy)


def _find_object_fault(path: Path, digest: str) -> str | None:
    if not path.exists():
        return "is not in the cache"
    try:
        is_sound = hash_file(path) == digest.removesuffix(FOLDER_SUFFIX)
    except OSError as error:
        return f"cannot be read ({str(explain_system_error(error)).partition('; ')[0]})"
    return None if is_sound else "is damaged in the cache"


def _format_rerun(out: Any) -> str:
    return f"`dvc repro --force --single-item {_name_stage(out)}` to make it again"


def _name_stage(out: Any) -> str:
    return str(out.stage.addressing)


def _quote(path: Any) -> str:
    """Return a path as a shell takes it, whatever it is named."""
    return shlex.quote(str(path))


def _shorten_path(path: Path) -> Path:
    here = Path.cwd().resolve()
    return path.relative_to(here) if path.is_relative_to(here) else path
