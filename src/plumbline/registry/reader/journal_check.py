"""Check the alias `champion` against the journal of decisions: the journal says who is champion."""

import functools
import logging
import os
import time
from collections.abc import Callable

from plumbline.contract.errors import BundleError, JournalError
from plumbline.registry import journal
from plumbline.registry.journal import Entry
from plumbline.registry.journal_head import find_missing_tail
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
    read_head: Callable[[], str | None] | None = None,
    require_journal: bool = False,
) -> RegisteredVersion:
    """Return what `resolve` finds, if it is not a champion or is the champion of the journal.

    Raises BundleError where the champion has other digests than the decision on it, JournalError
    where no decision made it champion, or where the journal lacks the entry that the registry
    recorded last (`read_head`; a server that polls leaves that query out). For a registry over
    HTTP without PLUMBLINE_JOURNAL_URI the alias is believed, which is logged once, unless
    `require_journal`: then JournalError.
    """
    version = resolve()
    if address.alias != CHAMPION:
        return version
    if not require_journal and not _is_journal_known():
        _warn_once(address.name)
        return version
    head = read_head() if read_head else None  # before the journal, which may grow meanwhile
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S)
            version = resolve()
        entries = _read_entries(address.name)
        _require_complete_journal(address.name, entries, head)
        entry = _find_last_move(entries)
        if entry and entry.version == version.number:
            verify_digests(version, entry)
            return version
    decided = f"made version {entry.version} champion" if entry else "never made one champion"
    raise JournalError(
        f"{address.name}: the registry says that version {version.number} is champion, the journal "
        f"of decisions {decided}; the alias was changed outside plumbline, or a decision was cut "
        f"off: `plumbline journal {address.name}` finishes that decision, or says what to do"
    )


def verify_digests(version: RegisteredVersion, entry: Entry) -> None:
    """BundleError where a version's tags name other files or evidence than were decided on."""
    tagged = (version.tags.get(BUNDLE_TAG), version.tags.get(EVIDENCE_TAG))
    if tagged != (entry.bundle, entry.evidence):
        raise BundleError(
            f"{version.label}: not what journal entry {entry.number} made champion (other digests "
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


def _require_complete_journal(name: str, entries: list[Entry], head: str | None) -> None:
    number = find_missing_tail(entries, head)
    if number:
        raise JournalError(
            f"{name}: the journal ends before entry {number}; restore it from a backup"
        )


def _find_last_move(entries: list[Entry]) -> Entry | None:
    moves = [entry for entry in entries if entry.moves]
    return moves[-1] if moves else None
