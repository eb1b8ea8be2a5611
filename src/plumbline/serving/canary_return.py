"""Record the return of a canary in the journal of decisions."""

import asyncio
import logging

from plumbline.contract.errors import PlumblineError
from plumbline.registry import journal
from plumbline.registry.journal import Decision
from plumbline.registry.reader.verified_cache import CachedVersion

log = logging.getLogger(__name__)


class ReturnRecorder:
    """Holds a return until the journal has it."""

    def __init__(self) -> None:
        self._pending: Decision | None = None

    def add(self, canary: CachedVersion, reason: str) -> None:
        """Note a return that `record` writes."""
        self._pending = Decision(
            canary.name, "return", canary.version, "", canary.bundle, "", reason
        )

    async def record(self) -> None:
        """Append a pending return; while the journal is unreachable, it stays pending."""
        decision = self._pending
        self._pending = None
        if decision is None:
            return
        try:
            await asyncio.to_thread(_append_to_journal, decision)
        except (PlumblineError, OSError) as error:
            log.warning("the return of the canary is not in the journal yet: %s", error)
            self._pending = decision


def _append_to_journal(decision: Decision) -> None:
    with journal.lock_journal() as locked:
        locked.append(decision)
