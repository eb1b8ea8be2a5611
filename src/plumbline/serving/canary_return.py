"""Record the return of a canary in the journal of decisions, and seal it."""

import asyncio
import logging
from collections.abc import Callable

from plumbline.contract.errors import PlumblineError
from plumbline.registry import journal
from plumbline.registry.journal import Decision
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.registry.return_seal import seal_returns

log = logging.getLogger(__name__)


class ReturnRecorder:
    """Holds a return until the journal has it, and the registry the journal's end."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._pending: Decision | None = None
        self._unsealed: Decision | None = None
        self._problem = ""  # that was logged last

    def add(self, canary: CachedVersion, reason: str) -> None:
        """Note a return that `record` writes."""
        self._pending = Decision(
            canary.name, "return", canary.version, "", canary.bundle, "", reason
        )

    async def record(self) -> None:
        """Append a pending return, and seal it; what is unreachable is tried again next time.

        One that was cancelled may still be writing in its thread: the next call writes it again,
        which adds no second entry.
        """
        async with self._lock:
            decision = self._pending
            if decision and await self._try(_append_to_journal, decision, "not in the journal yet"):
                self._unsealed = decision
                self._pending = None if self._pending is decision else self._pending
            unsealed = self._unsealed
            if unsealed and await self._try(_seal, unsealed, "not sealed in the registry yet"):
                self._unsealed = None

    async def _try(self, write: Callable[[Decision], None], decision: Decision, state: str) -> bool:
        """Whether `write` wrote the decision; why it did not is logged once."""
        try:
            await asyncio.to_thread(write, decision)
        except (PlumblineError, OSError) as error:
            problem = f"the return of the canary is {state}: {error}"
            if problem != self._problem:
                log.warning("%s", problem)
            self._problem = problem
            return False
        return True


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


def _seal(decision: Decision) -> None:
    seal_returns(decision.model)
