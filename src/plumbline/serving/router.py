"""Send requests to the champion, and to a canary or a shadow if there is one."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from plumbline.contract.errors import (
    AbsentVersionError,
    JournalIntegrityError,
    PlumblineError,
    RegistryError,
)
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.serving import metrics
from plumbline.serving.canary import CanarySlot
from plumbline.serving.errors import RequestError, describe_error
from plumbline.serving.exchange import Exchange
from plumbline.serving.loaded_model import FULL, Answer, LoadedModel
from plumbline.serving.request_log import RequestLog
from plumbline.serving.settings import Settings

log = logging.getLogger(__name__)


class TrafficRouter:
    """All loaded versions of one model; sends each request to one or more of them."""

    def __init__(self, settings: Settings, request_log: RequestLog) -> None:
        self._settings = settings
        self._log = request_log
        self._cache = VerifiedModelCache(settings.model, settings.cache)
        self._champion: LoadedModel | None = None
        self._canary = CanarySlot(settings, self._cache, self._run_in_background)
        self._shadow: LoadedModel | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._follower: asyncio.Task[None] | None = None
        self.problem: str | None = None  # why the version that the registry names is not served

    @property
    def champion(self) -> LoadedModel:
        """The version that answers; there is one when the server takes its first request."""
        assert self._champion is not None  # noqa: S101
        return self._champion

    def is_champion(self, name: str, version: str | None) -> bool:
        """Whether the champion has this name and, where one is given, this version."""
        cached = self.champion.cached
        return name == cached.name and version in (None, cached.version)

    async def start(self) -> None:
        """Load the versions, then start to follow the registry."""
        self._champion = await self._load_or_fall_back()
        if self._settings.shadow:
            self._shadow = await self._load_shadow(self._settings.shadow)
        await self._canary.start(self._champion)
        log.info("%s is serving", self._name_champion())
        self._follower = self._run_in_background(self._follow_registry())

    async def answer(self, exchange: Exchange, *, is_version_named: bool) -> Answer:
        """Ask the champion, or the canary if the request is assigned to it. Raises RequestError.

        A client that named the champion's version is answered by the champion alone. Where the
        canary does not answer, the champion does, so that no client loses. A shadow is also asked
        what the champion fails; where both fail, neither is better, and nothing is logged.
        """
        canary = None if is_version_named else self._canary.assign(exchange)
        deadline_s = self._settings.limits.deadline_s
        if canary is None:
            champion = self.champion
            try:
                answer = await champion.answer(exchange.request, deadline_s)
            except RequestError as error:
                if error.status != FULL:
                    self._add_shadow(exchange, Answer({}, champion.cached, "champion", 0.0))
                raise
            self._add_shadow(exchange, answer)
            return answer
        tried = await canary.try_answer(exchange.request, deadline_s / 2)
        if tried and tried.columns:
            self._run_in_background(self._compare(self.champion, exchange, tried))
            return tried
        answer = await self.champion.answer(exchange.request, deadline_s / 2)
        self._log.add(exchange, answer, tried)
        if tried:
            self._canary.judge(exchange, answer, tried)
        return answer

    async def close(self) -> None:
        """Answer what is queued, record a return that is due in the journal, then stop."""
        if self._follower:
            self._follower.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._canary.close()
        for model in (self._champion, self._shadow):
            if model:
                await model.close()

    def _add_shadow(self, exchange: Exchange, answer: Answer) -> None:
        """Log an answer, with that of the shadow where its queue has room."""
        if self._shadow and not self._shadow.is_full:
            self._run_in_background(self._compare(self._shadow, exchange, answer))
        elif answer.columns:
            self._log.add(exchange, answer)

    async def _compare(self, other: LoadedModel, exchange: Exchange, shown: Answer) -> None:
        """Ask the shadow, or beside a canary the champion, the same; log both answers."""
        found = await other.try_answer(exchange.request, self._settings.limits.deadline_s)
        if shown.columns or (found and found.columns):
            self._log.add(exchange, shown, found)
        if found and other is not self._shadow and found.columns:
            self._canary.judge(exchange, found, shown)
        elif found and other is self._shadow and shown.columns:
            exchange.compare(shown, found)

    async def _load_or_fall_back(self) -> LoadedModel:
        """Load what the registry names; if that cannot be opened, the one that served last.

        A worker that is restarted while the champion is unfit must not stop the other workers.
        """
        try:
            cached = await asyncio.to_thread(self._cache.fetch_latest_or_kept)
            return await self._load_champion(cached)
        except (PlumblineError, OSError) as error:
            last = await asyncio.to_thread(self._cache.find_kept)
            if last is None:
                raise
            log.warning("%s; version %s, which served last, keeps serving", error, last.version)
            return await self._load_champion(last)

    async def _load_champion(self, cached: CachedVersion) -> LoadedModel:
        """Load the new champion and keep it in the cache for when the registry is unreachable."""
        model = await LoadedModel.load(cached, self._settings.limits, "champion")
        try:
            await asyncio.to_thread(self._cache.keep, cached)
        except PlumblineError as error:
            label = f"{cached.name} version {cached.version}"
            log.warning("%s is serving, but cannot be kept for later: %s", label, error)
        return model

    async def _load_shadow(self, version: str) -> LoadedModel | None:
        """Load the shadow; None where it cannot be used: the champion serves without it."""
        try:
            cached = await asyncio.to_thread(self._cache.fetch_version, version)
            return await LoadedModel.load(cached, self._settings.limits, "shadow")
        except Exception as error:  # noqa: BLE001  whatever its code raises
            log.warning("shadow: not in service: %s", describe_error(error))
            return None

    async def _follow_registry(self) -> None:
        """Poll the registry and follow it to a new champion that passes its checks.

        Whatever goes wrong, the present champion keeps serving and polling goes on.
        """
        while True:
            await asyncio.sleep(self._settings.limits.poll_s)
            try:
                await self._swap_champion(await asyncio.to_thread(self._cache.fetch_latest))
                self._report_problem(None)
            except Exception as error:  # noqa: BLE001  whatever its code raises
                self._report_problem(error)
            await self._canary.follow_journal()

    def _report_problem(self, error: Exception | None) -> None:
        """Show why the registry is not followed: in the log once, in /version and in metrics."""
        problem = describe_error(error) if error else None
        if problem and problem != self.problem:
            log.warning("%s keeps serving: %s", self._name_champion(), problem)
        self.problem = problem
        metrics.REGISTRY_UP.set(not _is_unreachable(error))
        if error:
            outcome = "unreachable" if _is_unreachable(error) else "refused"
            metrics.SWAPS.labels(outcome).inc()

    async def _swap_champion(self, cached: CachedVersion) -> None:
        """Let a new champion answer from now on; the old one answers what is in its queue."""
        old = self.champion
        if (old.cached.version, old.cached.bundle) == (cached.version, cached.bundle):
            return
        self._champion = await self._load_champion(cached)
        metrics.SWAPS.labels("done").inc()
        log.warning(
            "%s version %s replaces version %s", cached.name, cached.version, old.cached.version
        )
        self._run_in_background(old.close())
        self._canary.stop("taken out of service, not returned: the champion changed")

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _name_champion(self) -> str:
        return f"{self.champion.cached.name} version {self.champion.cached.version}"


def _is_unreachable(error: Exception | None) -> bool:
    """Whether the registry or its journal did not answer; one without the champion did."""
    answered = isinstance(error, JournalIntegrityError | AbsentVersionError)
    return isinstance(error, RegistryError) and not answered
