"""A champion is what the journal of decisions says, not whatever an alias points at."""

import functools
import logging
import os
import time
from collections.abc import Callable

from plumbline.contract.errors import BundleError, JournalError
from plumbline.registry import journal
from plumbline.registry.journal import Entry
from plumbline.registry.model_versions import BUNDLE_TAG, CHAMPION, EVIDENCE_TAG, Address
from plumbline.registry.reader.stores import Version
from plumbline.tracking import mlflow_runs

TRIES, PAUSE_S = 5, 0.5  # a decision is in the journal a moment before its alias moves
log = logging.getLogger(__name__)


def agreed(asked: Address, ask: Callable[[], Version]) -> Version:
    """What `ask` finds, if it is no champion or the one of the journal.

    Raises BundleError where the champion has other digests than the decision on it, JournalError where no decision
    made it champion. Of a registry over HTTP, where no journal is named, its tags must do; that is logged once.
    """
    found = ask()
    if asked.alias != CHAMPION:
        return found
    if mlflow_runs.uri().startswith("http") and not os.environ.get("PLUMBLINE_JOURNAL_URI"):
        _tell(asked.name)
        return found
    for number in range(TRIES):
        if number:
            time.sleep(PAUSE_S)
            found = ask()
        entry = _last_move(asked.name)
        if entry and entry.version == found.number:
            return _same(found, entry)
    made = f"made version {entry.version} champion" if entry else "never made one champion"
    raise JournalError(
        f"{asked.name}: the registry says that version {found.number} is champion, the journal of decisions {made}; "
        f"`plumbline journal {asked.name}` finishes a decision that was cut off, or says what to do"
    )


@functools.cache
def _tell(name: str) -> None:
    log.warning(
        "%s: the registry is believed: PLUMBLINE_JOURNAL_URI names no journal to hold its alias against",
        name,
    )


def _last_move(name: str) -> Entry | None:
    with journal.seen() as book:
        return next((entry for entry in reversed(book.entries(name)) if entry.moves), None)


def _same(found: Version, entry: Entry) -> Version:
    if (found.tags.get(BUNDLE_TAG), found.tags.get(EVIDENCE_TAG)) != (entry.bundle, entry.evidence):
        raise BundleError(
            f"{found.name} version {found.number}: not what journal entry {entry.number} made champion (other digests "
            f"in its tags); do not use it. `plumbline rollback {found.name}` brings back the champion before it"
        )
    return found
