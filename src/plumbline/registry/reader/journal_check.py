"""Check the alias `champion` against the journal of decisions: the journal says who is champion."""

import functools
import logging
import os
import time
from collections.abc import Callable
from typing import NoReturn

from plumbline.contract.errors import BundleError, JournalError, JournalIntegrityError
from plumbline.registry import journal
from plumbline.registry.journal import Entry
from plumbline.registry.journal_head import require_whole_journal
from plumbline.registry.journal_rules import find_choice, find_last_move, refuse_unfit
from plumbline.registry.reader.addresses import BUNDLE_TAG, CHAMPION, EVIDENCE_TAG, VersionAddress
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.tracking import store_location

# A decision is in the journal a moment before its alias moves: so often, so long is waited for it.
TRIES = 5
PAUSE_S = 0.5
log = logging.getLogger(__name__)


def verify_alias_against_journal(
    address: VersionAddress,
    resolve: Callable[[], RegisteredVersion],
    *,
    read_head: Callable[[], str | None],
    require_journal: bool = False,
) -> RegisteredVersion:
    """Return what `resolve` finds, if it is not a champion or is the champion of the journal.

    Raises BundleError where the champion has other digests than the decision that chose it,
    JournalIntegrityError where no decision made it champion, or where the journal lacks the entry
    that the registry recorded last (`read_head`). For a registry over HTTP without
    PLUMBLINE_JOURNAL_URI the alias is believed, which is logged once, unless `require_journal`:
    then JournalError.
    """
    version = resolve()
    if address.alias != CHAMPION:
        return version
    if not require_journal and not _is_journal_known():
        _warn_once(address.name)
        return version
    head = read_head()  # before the journal, which may grow meanwhile
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S)
            version = resolve()
        entries = _read_entries(address.name)
        require_whole_journal(address.name, entries, {address.name: head})
        entry = find_last_move(entries)
        if entry and entry.version == version.number:
            verify_digests(version, entry)
            verify_digests(version, find_choice(entries, version.number) or entry)
            return version
    decided = f"made version {entry.version} champion" if entry else "never made one champion"
    raise JournalIntegrityError(
        f"{address.name}: the registry says that version {version.number} is champion, the journal "
        f"of decisions {decided}; the alias was changed outside plumbline, or a decision was cut "
        f"off: `plumbline journal {address.name}` finishes that decision, or says what to do"
    )


def verify_version_against_journal(version: RegisteredVersion) -> None:
    """BundleError where the journal knows a version, named by number, with another bundle.

    What the journal says nothing of passes, and so does everything while it cannot be used: who
    names a version asks for no decision.
    """
    if not _is_journal_known():
        return
    try:
        entries = _read_entries(version.name)
    except JournalError:
        return
    known = [
        entry for entry in entries if entry.version == version.number and _is_on_evidence(entry)
    ]
    if known and version.tags.get(BUNDLE_TAG) not in [entry.bundle for entry in known]:
        _refuse_digests(version, known[-1])


def require_fit_to_answer(version: RegisteredVersion) -> None:
    """Require that the journal registered a version that is to answer beside the champion.

    JournalError where it does not know it, RefusedError where its bundle was refused since, or
    returned as a canary. For a registry over HTTP without PLUMBLINE_JOURNAL_URI nothing is known,
    which is logged once.
    """
    if not _is_journal_known():
        _warn_once(version.name)
        return
    digests = (version.tags.get(BUNDLE_TAG), version.tags.get(EVIDENCE_TAG))
    entries = _read_entries(version.name)
    for entry in entries:
        is_own = entry.version == version.number and (entry.bundle, entry.evidence) == digests
        if is_own and _is_on_evidence(entry):
            refuse_unfit(version.name, version.number, entry.bundle, entries)
            return
    raise JournalError(
        f"{version.label}: the journal does not say that it was registered with this evidence; it "
        "may not answer requests. `dvc repro --force --single-item register` registers what was "
        "evaluated here"
    )


def verify_digests(version: RegisteredVersion, entry: Entry) -> None:
    """BundleError where a version's tags name other files or evidence than were decided on."""
    tagged = (version.tags.get(BUNDLE_TAG), version.tags.get(EVIDENCE_TAG))
    if tagged != (entry.bundle, entry.evidence):
        _refuse_digests(version, entry)


def _is_on_evidence(entry: Entry) -> bool:
    """Whether an entry names what was examined when it was written; a rollback does not."""
    return entry.action == "registered" or (entry.moves and entry.action != "rollback")


def _refuse_digests(version: RegisteredVersion, entry: Entry) -> NoReturn:
    remedy = ""
    if entry.moves:
        remedy = f". `plumbline rollback {version.name}` brings back the champion before it"
    raise BundleError(
        f"{version.label}: not what journal entry {entry.number} "
        f"{'made champion' if entry.moves else 'registered'} (other digests in its tags); "
        f"do not use it{remedy}"
    )


def _is_journal_known() -> bool:
    if os.environ.get("PLUMBLINE_JOURNAL_URI"):
        return True
    return not store_location.find_uri().startswith("http")


@functools.cache
def _warn_once(name: str) -> None:
    log.warning(
        "%s: the alias of the registry is believed: "
        "PLUMBLINE_JOURNAL_URI names no journal to check it against",
        name,
    )


def _read_entries(name: str) -> list[Entry]:
    with journal.read_journal() as book:
        return book.read_entries(name)
