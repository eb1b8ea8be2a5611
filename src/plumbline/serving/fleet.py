"""Who answers: the champion, a canary for a share of the requests, a shadow that only listens."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from plumbline.contract.errors import BundleError, PlumblineError, RegistryError
from plumbline.registry import journal
from plumbline.registry.journal import Decision
from plumbline.registry.reader.mirror import Copy, Mirror
from plumbline.serving import metrics
from plumbline.serving.inputs import Asked, Columns
from plumbline.serving.refusals import Refusal, not_ready
from plumbline.serving.served import Served, alike
from plumbline.serving.settings import Settings
from plumbline.serving.trial import Trial

JITTER_S = 0.01  # by so much two answers of one model may differ in time on a busy machine
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """What was answered, and by whom."""

    columns: Columns
    copy: Copy
    side: str
    seconds: float


class Fleet:
    """All versions of one model that are loaded, and who is asked."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._mirror = settings, Mirror(settings.uri, settings.cache)
        self.champion: Served | None = None
        self._canary: Served | None = None
        self._shadow: Served | None = None
        self._trial = Trial(settings.canary) if settings.canary else None
        self._returned: Decision | None = None  # not in the journal yet
        self._tasks: set[asyncio.Task[None]] = set()
        self._recording: asyncio.Task[None] | None = None
        self.draining = False

    @property
    def ready(self) -> bool:
        """Whether a checked model answers and will go on doing so."""
        return self.champion is not None and not self.draining

    @property
    def full(self) -> bool:
        """Whether the champion has as much before it as it can take."""
        return self.champion is not None and self.champion.full

    async def start(self) -> None:
        """Open what the registry names, then follow it."""
        if self._settings.canary:
            self._canary = await self._opened(self._settings.canary.version, "canary")
        if self._settings.shadow:
            self._shadow = await self._opened(self._settings.shadow, "shadow")
        self.champion = await self._fit()
        log.info("%s answers", self._who())
        self._keep(self._follow())

    async def answer(self, asked: Asked, gone: Callable[[], bool]) -> Answer:
        """Ask the champion, or the canary for its share. Raises Refusal."""
        champion = self.champion
        if champion is None:
            raise not_ready()
        canary, limit = self._canary, self._settings.limits.deadline_s
        if canary and self._settings.canary and random.random() < self._settings.canary.share:  # noqa: S311
            return await self._tried(canary, champion, asked, gone)
        columns, seconds = await champion.answer(asked, gone, limit)
        if self._shadow:
            self._keep(self._listened(self._shadow, asked, columns))
        return Answer(columns, champion.copy, "champion", seconds)

    async def close(self) -> None:
        """Answer what waits, put a return that is due into the journal, then end all."""
        for task in self._tasks - {self._recording}:
            task.cancel()
        if self._recording:
            await self._recording
        await self._record()
        for served in (self.champion, self._canary, self._shadow):
            if served:
                await served.close()

    async def _fit(self) -> Served:
        """What the registry names or, where that is unfit, what answered last: a new worker ends no old one."""
        try:
            return await self._checked(await asyncio.to_thread(self._mirror.current))
        except BundleError as error:
            kept = await asyncio.to_thread(self._mirror.local)
            if kept is None:
                raise
            log.warning("%s; version %s, which answered last, goes on", error, kept.version)
            return await self._checked(kept)

    async def _checked(self, copy: Copy) -> Served:
        """The new champion, which is kept: it will do while the registry is away."""
        served = await Served.opened(copy, self._settings.limits)
        try:
            await asyncio.to_thread(self._mirror.keep, copy)
        except PlumblineError as error:
            log.warning(
                "%s version %s answers, but is not kept: %s", copy.name, copy.version, error
            )
        served.shown("champion")
        return served

    async def _opened(self, version: str, side: str) -> Served:
        served = await Served.opened(
            await asyncio.to_thread(self._mirror.version, version), self._settings.limits
        )
        served.shown(side)
        return served

    async def _follow(self) -> None:
        """Ask the registry now and then; what it says is followed only if it holds."""
        up = True
        while True:
            await asyncio.sleep(self._settings.poll_s)
            try:
                copy = await asyncio.to_thread(self._mirror.latest)
                await self._swapped(copy)
                up = True
            except PlumblineError as error:
                if up or not isinstance(error, RegistryError):
                    log.warning("%s goes on: %s", self._who(), error)
                up = up and not isinstance(error, RegistryError)
                metrics.SWAPS.labels(
                    "unreachable" if isinstance(error, RegistryError) else "refused"
                ).inc()
            metrics.REGISTRY_UP.set(up)
            await self._record()

    async def _swapped(self, copy: Copy) -> None:
        """Let `copy` answer from now on; the old one answers what it was asked."""
        old = self.champion
        if old is None or (old.copy.version, old.copy.bundle) == (copy.version, copy.bundle):
            return
        self.champion = await self._checked(copy)
        metrics.SWAPS.labels("done").inc()
        log.warning(
            "%s version %s answers in place of %s", copy.name, copy.version, old.copy.version
        )
        if self._canary and self._canary.copy.version == copy.version:
            self._stop_canary()
        self._keep(old.close())

    async def _tried(
        self, canary: Served, champion: Served, asked: Asked, gone: Callable[[], bool]
    ) -> Answer:
        """The canary's answer. Where it fails the champion answers: a trial is no client's loss."""
        limit = self._settings.limits.deadline_s
        try:
            columns, seconds = await canary.answer(asked, gone, limit / 2)
        except Refusal as refusal:
            if refusal.status < 500:
                raise
            self._judge(failed=True, differs=True, slow=False)
            champion = self.champion or champion  # it may have been swapped meanwhile
            columns, seconds = await champion.answer(asked, gone, limit / 2)
            return Answer(columns, champion.copy, "champion", seconds)
        self._keep(self._compared(asked, columns, seconds))
        return Answer(columns, canary.copy, "canary", seconds)

    async def _compared(self, asked: Asked, theirs: Columns, seconds: float) -> None:
        champion = self.champion
        if champion is None:
            return
        try:
            ours, took = await champion.answer(asked, _stays, self._settings.limits.deadline_s)
        except Refusal:
            return  # the champion is overloaded: nothing is learned of the canary
        slowdown = self._settings.canary.max_slowdown if self._settings.canary else 1
        slow = seconds > slowdown * took + JITTER_S
        self._judge(failed=False, differs=not _same(ours, theirs), slow=slow)

    def _judge(self, *, failed: bool, differs: bool, slow: bool) -> None:
        if self._trial is None or self._canary is None:
            return
        metrics.PAIRS.labels(
            "canary", "failed" if failed else "differs" if differs else "same"
        ).inc()
        self._trial.add(failed=failed, differs=differs, slow=slow)
        if reason := self._trial.verdict:
            copy = self._canary.copy
            log.error("canary: %s version %s is returned: %s", copy.name, copy.version, reason)
            self._returned = Decision(
                copy.name, "return", copy.version, "", copy.bundle, "", reason
            )
            self._stop_canary()
            self._recording = self._keep(self._record())

    def _stop_canary(self) -> None:
        canary, self._canary = self._canary, None
        if canary:
            metrics.SERVED.remove(canary.copy.name, "canary")
            self._keep(canary.close())

    async def _record(self) -> None:
        """Put the return into the journal; where that is away, at the next look at the registry."""
        decision, self._returned = self._returned, None
        if decision:
            try:
                await asyncio.to_thread(_append, decision)
            except PlumblineError as error:
                log.warning("the return of the canary is not in the journal yet: %s", error)
                self._returned = decision

    async def _listened(self, shadow: Served, asked: Asked, ours: Columns) -> None:
        if shadow.full:
            return
        try:
            theirs, _ = await shadow.answer(asked, _stays, self._settings.limits.deadline_s)
            outcome = "same" if _same(ours, theirs) else "differs"
        except Refusal:
            outcome = "failed"
        metrics.PAIRS.labels("shadow", outcome).inc()

    def _keep(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Let `work` run beside the requests."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _who(self) -> str:
        copy = self.champion and self.champion.copy
        return f"{copy.name} version {copy.version}" if copy else self._settings.uri


def _same(ours: Columns, theirs: Columns) -> bool:
    """Whether the first column of answers, the one that is acted on, is alike in every row."""
    first = next(iter(ours))
    return first in theirs and all(map(alike, ours[first], theirs[first]))


def _append(decision: Decision) -> None:
    with journal.opened() as book:
        book.append(decision)


def _stays() -> bool:
    return False
