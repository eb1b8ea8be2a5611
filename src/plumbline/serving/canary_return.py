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
        self._lock = asyncio.Lock()
        self._pending: Decision | None = None
        self._problem = ""  # that was logged last

    def add(self, canary: CachedVersion, reason: str) -> None:
        """Note a return that `record` writes."""
        self._pending = Decision(
            canary.name, "return", canary.version, "", canary.bundle, "", reason
        )

    async def record(self) -> None:
        """Append a pending return; where the journal is unreachable, the next call tries again.

        One that was cancelled may still be writing in its thread: the next call writes it again,
        which adds no second entry. Why it failed is logged once.
        """
        async with self._lock:
            decision = self._pending
            if decision is None:
                return
            try:
                await asyncio.to_thread(_append_to_journal, decision)
            except (PlumblineError, OSError) as error:
                problem = f"the return of the canary is not in the journal yet: {error}"
                if problem != self._problem:
                    log.warning("%s", problem)
                self._problem = problem
            else:
                self._pending = None if self._pending is decision else self._pending


def find_recording_problem() -> str | None:
    """Say why the journal would not take a return; None where it would."""
    try:
        with journal.lock_journal() as locked:
            locked.require_append()
    except (PlumblineError, OSError) as error:
        return str(error)
    return None


def _append_to_journal(decision: Decision) -> None:
    """Append a return, unless another server returned this bundle first."""
    with journal.lock_journal() as locked:
        entries = locked.read_entries(decision.model)
        returned = [entry.bundle for entry in entries if entry.action == "return"]
        if decision.bundle not in returned:
            locked.append(decision)
