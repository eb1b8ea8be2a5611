"""The journal's chain, the champions it made, and those that champion.json names."""

from collections.abc import Iterator

from plumbline.contract import layout
from plumbline.contract.errors import JournalIntegrityError, PlumblineError
from plumbline.diagnostics.fsck.registry_state import RegistryState
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.registry import (
    champion_pin,
    journal,
    journal_head,
    journal_rules,
    model_versions,
)
from plumbline.registry.champion_pin import ChampionPin
from plumbline.registry.journal import Entry
from plumbline.registry.reader import addresses

BACKUP = "restore it from a backup"


def check_chain(state: RegistryState) -> Iterator[DiagnosticResult]:
    """The hash chain, its end, and whether the versions that it names still exist."""
    position = journal.find_broken_entry(state.entries)
    if position:
        message = f"entry {position} was changed since it was written (hash mismatch)"
        yield DiagnosticResult(
            "journal", False, message, f"{BACKUP}, and find out who can write to it"
        )
    for name, model in state.models.items():
        yield from _check_end(name, state.entries, model.tags.get(journal_head.HEAD_TAG))
    yield from _check_named_versions(state)
    yield from _check_registrations(state)


def _check_end(name: str, entries: list[Entry], head: str | None) -> Iterator[DiagnosticResult]:
    try:
        number = journal_head.find_missing_tail(name, entries, head)
    except JournalIntegrityError as error:
        message, _, remedy = str(error).partition("; ")
        yield DiagnosticResult("journal", False, message, remedy)
        return
    if number is not None:
        message = f"{name}: entry {number} and all after it are missing"
        yield DiagnosticResult("journal", False, message, BACKUP)


def _check_registrations(state: RegistryState) -> Iterator[DiagnosticResult]:
    """Versions that no entry names: they were not made by `register`, or before it wrote entries.

    A warning: such a version is not promoted, and does no harm.
    """
    named = {(entry.model, entry.version) for entry in state.entries}
    for (name, version), bundle in state.list_bundles().items():
        if bundle and (name, version) not in named:
            message = f"{name} version {version}: no entry registered it; it cannot be promoted"
            remedy = (
                "nothing, if a run that was killed left it: the next one removes it; "
                "`dvc repro --force --single-item register` registers what was evaluated here"
            )
            yield DiagnosticResult("journal", True, message, remedy)


def _check_named_versions(state: RegistryState) -> Iterator[DiagnosticResult]:
    bundles = state.list_bundles()
    for (name, version), entries in _group_by_version(state.entries).items():
        numbers = ", ".join(str(entry.number) for entry in entries)
        subject = f"{name} version {version}, named in entry {numbers}"
        if (name, version) not in bundles:
            last = state.find_last_move(name)
            is_needed = last is not None and version in (last.version, last.previous)
            remedy = "nothing, if it was deleted on purpose: it is not served any more"
            if is_needed:
                remedy = f"{BACKUP} of the registry"
            yield DiagnosticResult("journal", not is_needed, f"{subject}, does not exist", remedy)
        elif bundles[name, version] not in {entry.bundle for entry in entries}:
            message = f"{subject}, is tagged with another bundle now"
            yield DiagnosticResult("journal", False, message, f"{BACKUP} of the registry")


def check_champions(state: RegistryState) -> Iterator[DiagnosticResult]:
    """The alias `champion` of each model compared with its last decision."""
    for name, model in state.models.items():
        last = state.find_last_move(name)
        holder = model_versions.find_alias_holder(state.client, name, addresses.CHAMPION)
        champion = str(holder.version) if holder else journal_rules.NO_CHAMPION
        if last is None:
            if holder:
                yield _report_undecided(name, champion)
            continue
        is_new = _is_unrecorded(last, model.tags.get(journal_head.HEAD_TAG))
        if is_new and not journal_head.is_intended(last, model.tags.get(journal_head.INTENT_TAG)):
            yield _report_forged(name, champion, last)
        elif is_new and champion in (last.previous, last.version):
            yield _report_half_done(name, champion, last)
        elif champion != last.version:
            yield _report_moved_alias(name, champion, last)


def _is_unrecorded(last: Entry, head: str | None) -> bool:
    try:
        return journal_head.is_unrecorded(last, head)
    except JournalIntegrityError:  # see the result for the journal
        return False


def _report_undecided(name: str, champion: str) -> DiagnosticResult:
    message = f"{name}: version {champion} is champion, but no decision made it so"
    remedy = (
        "delete the alias champion in MLflow, then run `plumbline promote`; or restore the journal"
    )
    return DiagnosticResult("champion", False, message, remedy)


def _report_half_done(name: str, champion: str, last: Entry) -> DiagnosticResult:
    message = (
        f"{name}: entry {last.number} made version {last.version} champion, "
        f"a crash left the registry at {champion}"
    )
    return DiagnosticResult(
        "champion", False, message, f"`plumbline champion {name}` finishes the move"
    )


def _report_forged(name: str, champion: str, last: Entry) -> DiagnosticResult:
    message = (
        f"{name}: entry {last.number} ({last.action} of version {last.version}) was not written by "
        f"plumbline: the registry was not told before that it would come; champion is {champion}"
    )
    remedy = (
        f"{BACKUP} of the journal, and find out who can write to it; or, if the registry was "
        f"restored from an older backup, restore it to at least entry {last.number}"
    )
    return DiagnosticResult("champion", False, message, remedy)


def _report_moved_alias(name: str, champion: str, last: Entry) -> DiagnosticResult:
    message = (
        f"{name}: the registry says {champion}, the journal {last.version}: "
        "the alias was changed outside plumbline"
    )
    remedy = f"in MLflow (`make ui`) set the alias champion back to version {last.version}"
    return DiagnosticResult("champion", False, message, remedy)


def check_pins(state: RegistryState) -> Iterator[DiagnosticResult]:
    """champion.json compared with the current champions.

    An older champion may be compared with on purpose: that is a warning.
    """
    faults = check_pin_file()
    if faults:
        yield from faults
        return
    bundles = state.list_bundles()
    for name, pin in champion_pin.read_pins().items():
        last = state.find_last_move(name)
        champion = last.version if last else journal_rules.NO_CHAMPION
        yield from _check_pin(name, pin, champion, bundles)
        if pin and bundles.get((name, pin.version)) == pin.bundle:
            yield from _check_pinned_entry(name, pin, state.entries)


def _check_pin(
    name: str, pin: ChampionPin | None, champion: str, bundles: dict[tuple[str, str], str | None]
) -> Iterator[DiagnosticResult]:
    remedy = f"`plumbline champion {name} --pin`, then `dvc repro`"
    pinned = pin.version if pin else journal_rules.NO_CHAMPION
    if pin and bundles.get((name, pin.version)) != pin.bundle:
        message = f"names {name} version {pinned} with a bundle that the registry does not have"
        yield DiagnosticResult("champion.json", False, message, remedy)
    elif pinned != champion:
        message = f"names {pinned} as champion of {name}; the champion is {champion} now"
        remedy = f"{remedy}; or leave it, to repeat an older comparison"
        yield DiagnosticResult("champion.json", True, message, remedy)


def _check_pinned_entry(
    name: str, pin: ChampionPin, entries: list[Entry]
) -> Iterator[DiagnosticResult]:
    """Whether the journal contains the decision that git knows of."""
    try:
        champion_pin.require_decision(name, pin, entries)
    except PlumblineError as error:
        message = str(error).removeprefix(f"{layout.CHAMPION}: ")
        remedy = f"{BACKUP}; or `plumbline champion {name} --pin`, if the file was edited"
        yield DiagnosticResult("champion.json", False, message, remedy)


def check_pin_file() -> list[DiagnosticResult]:
    """Whether champion.json can be read at all; no result if it can."""
    try:
        champion_pin.read_pins()
    except PlumblineError as error:
        fault, _, remedy = str(error).partition("; ")
        return [DiagnosticResult("champion.json", False, fault, remedy)]
    return []


def _group_by_version(entries: list[Entry]) -> dict[tuple[str, str], list[Entry]]:
    """The entries that name each version, by model and version."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if entry.version:
            groups.setdefault((entry.model, entry.version), []).append(entry)
    return groups
