"""Journal, champion.json and registry: whether they agree.

They are read without MLflow. The journal says which models and versions there should be.
"""

from collections.abc import Iterator
from contextlib import suppress

from plumbline.bundle import signatures
from plumbline.contract import layout
from plumbline.contract.errors import (
    AbsentVersionError,
    BundleError,
    JournalError,
    PlumblineError,
    RegistryError,
)
from plumbline.contract.loading import load_params
from plumbline.diagnostics.result import DiagnosticResult, report_error
from plumbline.process.lineage import run_git
from plumbline.registry import champion_pin, journal, local_files
from plumbline.registry.journal import Entry
from plumbline.registry.journal_rules import NO_CHAMPION, find_last_move
from plumbline.registry.reader import find_version, open_version
from plumbline.registry.reader.addresses import CHAMPION, describe_registry
from plumbline.registry.reader.artifacts import MissingArtifactError
from plumbline.registry.reader.run_files import fetch_recorded_file
from plumbline.tracking import store_location

# What lies beside a version, and its evidence has the digest of.
RECORDS = (layout.REPORT, layout.PARAMS, layout.MANIFEST, layout.DRIFT_REFERENCE)
BACKUP = "restore it from a backup"
FINISH = "`plumbline journal {}` finishes a decision that was cut off, or says what to do"
INSTEAD = "`plumbline promote {} VERSION --expect {} --override --reason WHY` takes another one"
UNREACHABLE = "start the server, or unset MLFLOW_TRACKING_URI to use mlruns/mlflow.db"
WHEN_IT_ANSWERS = "run this again when the store can be read: nothing shows that it is damaged"


def check_registry(*, full: bool) -> Iterator[DiagnosticResult]:
    """Compare all of them; `full` also reads all files of all versions."""
    local_files.require_local_models()
    entries = _read_entries()
    yield DiagnosticResult("journal", True, f"{len(entries)} entries, hash chain intact")
    yield from _check_pins(entries)
    if store_location.is_missing(store_location.find_uri()):
        yield DiagnosticResult("registry", True, "none yet; the first run creates it")
        return
    faults = list(_check_models(entries, full=full))
    yield from faults
    if not any(fault.what == "registry" for fault in faults):
        yield DiagnosticResult("registry", True, describe_registry())


def _read_entries() -> list[Entry]:
    if store_location.is_missing(journal.find_journal_uri()):
        return []
    with journal.read_journal() as book:
        return book.read_entries() if book.has_table() else []


def _check_pins(entries: list[Entry]) -> Iterator[DiagnosticResult]:
    """Compare champion.json with the journal; an older champion may be meant: a warning."""
    try:
        pins = champion_pin.read_pins()
    except PlumblineError as error:
        yield report_error("champion.json", error, BACKUP)
        return
    faults = []
    for name, pin in pins.items():
        remedy = f"`plumbline champion {name} --pin`, then `dvc repro`"
        last = _find_last_move(name, entries)
        champion = last.version if last else NO_CHAMPION
        pinned = pin.version if pin else NO_CHAMPION
        try:
            if pin:
                champion_pin.require_decision(name, pin, entries)
        except JournalError as error:
            faults.append(report_error("champion.json", error, remedy))
            continue
        if pinned != champion:
            message = f"names {pinned} as champion of {name}; the champion is {champion} now"
            leave = f"{remedy}; or leave it, to repeat an older comparison"
            faults.append(DiagnosticResult("champion.json", True, message, leave))
    success = "names the same champions as the journal"
    yield from faults or [DiagnosticResult("champion.json", True, success)]


def _check_models(entries: list[Entry], *, full: bool) -> Iterator[DiagnosticResult]:
    """Check each model in the journal, and that of params.yaml."""
    names = {entry.model for entry in entries}
    with suppress(Exception):  # see the result for params.yaml
        names.add(load_params(layout.PARAMS).registry.model)
    for name in sorted(names):
        try:
            yield from _check_champion(name, _find_last_move(name, entries))
        except RegistryError as error:
            message = str(error).partition(". Try ")[0]
            yield DiagnosticResult("registry", False, message, UNREACHABLE)
            return
    if full:
        yield from _check_versions(entries)


def _check_champion(name: str, last: Entry | None) -> Iterator[DiagnosticResult]:
    """Whether the alias `champion` is at the version that the journal says, with its digests."""
    try:
        find_version(f"models:/{name}@{CHAMPION}")
    except AbsentVersionError:
        if last is not None:
            message = f"{name}: the journal says version {last.version}, the registry has none"
            yield DiagnosticResult("champion", False, message, FINISH.format(name))
    except (BundleError, JournalError) as error:
        yield report_error("champion", error, BACKUP)


def _check_versions(entries: list[Entry]) -> Iterator[DiagnosticResult]:
    """Read the files, evidence and signature of each version that the journal names."""
    named: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if entry.version:
            named.setdefault((entry.model, entry.version), []).append(entry)
    faults: list[DiagnosticResult] = []
    for (name, version), own in named.items():
        try:
            faults += _check_version(name, version, own)
        except AbsentVersionError:
            faults.append(_report_absent(own, _find_last_move(name, entries)))
        except BundleError as error:
            remedy = f"{BACKUP} of the artifacts; until then do not promote it"
            faults.append(report_error("versions", error, remedy))
        except RegistryError as error:
            is_gone = isinstance(error, MissingArtifactError)
            remedy = f"{BACKUP} of the artifacts" if is_gone else WHEN_IT_ANSWERS
            faults.append(DiagnosticResult("versions", False, str(error), remedy))
    success = f"{len(named)}, each with its bundle, evidence and commit"
    yield from faults or [DiagnosticResult("versions", True, success)]


def _check_version(name: str, version: str, own: list[Entry]) -> Iterator[DiagnosticResult]:
    """Raises BundleError for damaged files, RegistryError where they are unreadable."""
    address = f"models:/{name}/{version}"
    with open_version(address, signed=False) as opened:
        for path in RECORDS:
            fetch_recorded_file(opened.registered, opened.evidence, path, opened.folder.parent)
    if signatures.find_key("PLUMBLINE_PUBLIC_KEY") is not None:
        try:
            with open_version(address):
                pass
        except BundleError as error:
            remedy = f"`plumbline sign {name} {version} --key KEY`, or do not use it"
            yield report_error("versions", error, remedy)
    if opened.bundle not in {entry.bundle for entry in own}:
        message = f"{name} version {version} has another bundle than the journal says"
        yield DiagnosticResult("versions", False, message, f"{BACKUP} of the registry")
    commit = opened.registered.tags.get("plumbline.git_commit")
    if commit and run_git("cat-file", "-e", f"{commit}^{{commit}}").returncode:
        message = f"{name} version {version}: commit {commit[:12]} is not in this repository"
        remedy = "git fetch --all (in a shallow clone: git fetch --unshallow), or push its branch"
        yield DiagnosticResult("versions", False, message, remedy)


def _report_absent(own: list[Entry], last: Entry | None) -> DiagnosticResult:
    """Say that a version is gone, and whether that is wrong; `own` are the entries that name it."""
    name, version = own[0].model, own[0].version
    numbers = ", ".join(str(entry.number) for entry in own)
    message = f"{name} version {version}, named in entry {numbers}, does not exist"
    if last and version == last.version:
        message += ", and is the champion: no server can start with it"
        remedy = f"{BACKUP}, or {INSTEAD.format(name, version)}"
        return DiagnosticResult("versions", False, message, remedy)
    remedy = f"{BACKUP}, unless it was deleted on purpose: it is not served any more"
    ok = last is None or version != last.previous  # to which `rollback` goes
    return DiagnosticResult("versions", ok, message, remedy)


def _find_last_move(name: str, entries: list[Entry]) -> Entry | None:
    return find_last_move([entry for entry in entries if entry.model == name])
