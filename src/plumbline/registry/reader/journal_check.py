"""Check the alias `champion` against the journal of decisions: the journal says who is champion."""

import functools
import logging
import os
import time

from plumbline.contract.errors import BundleError, JournalError, JournalIntegrityError
from plumbline.registry import journal
from plumbline.registry.journal import Entry
from plumbline.registry.journal_rules import (
    HEAD_TAG,
    find_choice,
    find_last_move,
    refuse_unfit,
    require_whole_journal,
)
from plumbline.registry.reader.addresses import BUNDLE_TAG, CHAMPION, EVIDENCE_TAG, VersionAddress
from plumbline.registry.reader.stores import RegisteredVersion, RegistryStore
from plumbline.tracking import store_location

# A decision is in the journal a moment before its alias moves: so often, so long is waited for it.
TRIES = 5
PAUSE_S = 0.5
log = logging.getLogger(__name__)


def find_in_agreement(
    store: RegistryStore, address: VersionAddress, *, require_journal: bool
) -> RegisteredVersion:
    """Find a version that is not addressed as champion, or is the champion of the journal.

    Raises BundleError where the champion has other digests than the decision that chose it,
    JournalIntegrityError where no decision made it champion, or where the journal lacks the entry
    that the registry recorded last. For a registry over HTTP without PLUMBLINE_JOURNAL_URI the
    alias is believed, which is logged once, unless `require_journal`: then JournalError.
    """
    version = store.find_version(address)
    if address.alias != CHAMPION:
        return version
    if not require_journal and not _is_journal_known():
        _warn_once(address.name)
        return version
    head = store.read_model_tag(address, HEAD_TAG)  # before the journal, which may grow meanwhile
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S)
            version = store.find_version(address)
        entries = _read_entries(address.name)
        require_whole_journal(address.name, entries, {address.name: head})
        entry = find_last_move(entries)
        if entry and entry.version == version.number:
            verify_digests(version, find_choice(entries, version.number) or entry)
            return version
    decided = f"made version {entry.version} champion" if entry else "never made one champion"
    raise JournalIntegrityError(
        f"{address.name}: the registry says that version {version.number} is champion, the journal "
        f"of decisions {decided}; the alias was changed outside plumbline, or a decision was cut "
        f"off: `plumbline journal {address.name}` finishes that decision, or says what to do"
    )


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
        # A rollback names what it found, not what was examined.
        if is_own and (entry.action == "registered" or entry.moves) and entry.action != "rollback":
            refuse_unfit(version.name, version.number, entry.bundle, entries)
            return
    raise JournalError(
        f"{version.label}: the journal does not say that it was registered with this evidence; it "
        "may not answer requests. `dvc repro --force --single-item register` registers what was "
        "evaluated here"
    )


def verify_digests(version: RegisteredVersion, move: Entry) -> None:
    """BundleError where a champion's tags name other files or evidence than were decided on."""
    if (version.tags.get(BUNDLE_TAG), version.tags.get(EVIDENCE_TAG)) != (
        move.bundle,
        move.evidence,
    ):
        raise BundleError(
            f"{version.label}: not what journal entry {move.number} made champion (other digests "
            f"in its tags); do not use it. `plumbline rollback {version.name}` brings back the "
            "champion before it"
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
