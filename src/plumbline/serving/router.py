"""Send requests to the champion, and to a canary or a shadow if there is one."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from plumbline.contract.answers import OTHER_MACHINE, is_same_answer
from plumbline.contract.errors import BundleError, PlumblineError, RegistryError
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.serving import metrics
from plumbline.serving.canary_return import ReturnRecorder
from plumbline.serving.errors import NotReadyError, RequestError
from plumbline.serving.inference_request import Columns, InferenceRequest
from plumbline.serving.loaded_model import LoadedModel
from plumbline.serving.settings import Settings
from plumbline.serving.trial import Trial

JITTER_S = 0.01  # on a busy machine two answers of one model may differ in time by this much
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """An answer, and the version that gave it as `variant` (champion or canary)."""

    columns: Columns
    cached: CachedVersion
    variant: str
    seconds: float


class TrafficRouter:
    """All loaded versions of one model; sends each request to one or more of them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._cache = VerifiedModelCache(settings.uri, settings.cache)
        self.champion: LoadedModel | None = None
        self._canary: LoadedModel | None = None
        self._shadow: LoadedModel | None = None
        self._trial = Trial(settings.canary) if settings.canary else None
        self._returns = ReturnRecorder()
        self._tasks: set[asyncio.Task[None]] = set()
        self._recording: asyncio.Task[None] | None = None
        self.is_draining = False

    @property
    def is_ready(self) -> bool:
        """Whether a checked model answers and the server is not shutting down."""
        return self.champion is not None and not self.is_draining

    @property
    def is_full(self) -> bool:
        """Whether the champion's queue is full."""
        return self.champion is not None and self.champion.is_full

    async def start(self) -> None:
        """Load the versions, then start to follow the registry."""
        if self._settings.canary:
            self._canary = await self._load_variant(self._settings.canary.version, "canary")
        if self._settings.shadow:
            self._shadow = await self._load_variant(self._settings.shadow, "shadow")
        self.champion = await self._load_or_fall_back()
        log.info("%s is serving", self._name_champion())
        self._run_in_background(self._follow_registry())

    async def answer(
        self, request: InferenceRequest, client_disconnected: Callable[[], bool]
    ) -> Answer:
        """Ask the champion or, for its share of the requests, the canary. Raises RequestError."""
        champion = self.champion
        if champion is None:
            raise NotReadyError
        canary = self._canary
        share = self._settings.canary.share if self._settings.canary else 0.0
        if canary and random.random() < share:  # noqa: S311  not for security
            return await self._answer_with_canary(canary, champion, request, client_disconnected)
        columns, seconds = await champion.answer(
            request, client_disconnected, self._settings.limits.deadline_s
        )
        if self._shadow:
            self._run_in_background(self._mirror_to_shadow(self._shadow, request, columns))
        return Answer(columns, champion.cached, "champion", seconds)

    async def close(self) -> None:
        """Answer what is queued, record a return that is due in the journal, then stop."""
        for task in self._tasks - {self._recording}:
            task.cancel()
        if self._recording:
            await self._recording
        await self._returns.record()
        for model in (self.champion, self._canary, self._shadow):
            if model:
                await model.close()

    async def _load_or_fall_back(self) -> LoadedModel:
        """Load what the registry names; if that is unfit, the version that served last.

        A worker that is restarted while the champion is unfit must not stop the other workers.
        """
        try:
            cached = await asyncio.to_thread(self._cache.fetch_latest_or_kept)
            return await self._load_champion(cached)
        except BundleError as error:
            last = await asyncio.to_thread(self._cache.find_kept)
            if last is None:
                raise
            log.warning("%s; version %s, which served last, keeps serving", error, last.version)
            return await self._load_champion(last)

    async def _load_champion(self, cached: CachedVersion) -> LoadedModel:
        """Load the new champion and keep it in the cache for when the registry is unreachable."""
        model = await LoadedModel.load(cached, self._settings.limits)
        try:
            await asyncio.to_thread(self._cache.keep, cached)
        except PlumblineError as error:
            log.warning(
                "%s version %s is serving, but cannot be kept for later: %s",
                cached.name,
                cached.version,
                error,
            )
        model.export_metrics("champion")
        return model

    async def _load_variant(self, version: str, variant: str) -> LoadedModel:
        cached = await asyncio.to_thread(self._cache.fetch_version, version)
        model = await LoadedModel.load(cached, self._settings.limits)
        model.export_metrics(variant)
        return model

    async def _follow_registry(self) -> None:
        """Poll the registry and follow it to a new champion that passes its checks."""
        up = True
        while True:
            await asyncio.sleep(self._settings.poll_s)
            try:
                await self._swap_champion(await asyncio.to_thread(self._cache.fetch_latest))
                up = True
            except RegistryError as error:
                if up:
                    log.warning("%s keeps serving: %s", self._name_champion(), error)
                up = False
                metrics.SWAPS.labels("unreachable").inc()
            except PlumblineError as error:
                log.warning("%s keeps serving: %s", self._name_champion(), error)
                metrics.SWAPS.labels("refused").inc()
            metrics.REGISTRY_UP.set(up)
            await self._returns.record()

    async def _swap_champion(self, cached: CachedVersion) -> None:
        """Let a new champion answer from now on; the old one answers what is in its queue."""
        old = self.champion
        if old is None:
            return
        if (old.cached.version, old.cached.bundle) == (cached.version, cached.bundle):
            return
        self.champion = await self._load_champion(cached)
        metrics.SWAPS.labels("done").inc()
        log.warning(
            "%s version %s replaces version %s", cached.name, cached.version, old.cached.version
        )
        if self._canary and self._canary.cached.version == cached.version:
            self._stop_canary()
        self._run_in_background(old.close())

    async def _answer_with_canary(
        self,
        canary: LoadedModel,
        champion: LoadedModel,
        request: InferenceRequest,
        client_disconnected: Callable[[], bool],
    ) -> Answer:
        """Answer with the canary; if it fails, the champion answers, and no client loses."""
        timeout_s = self._settings.limits.deadline_s / 2
        try:
            columns, seconds = await canary.answer(request, client_disconnected, timeout_s)
        except RequestError as error:
            if error.status < 500:
                raise
            self._judge_canary(failed=True, differs=True, slow=False)
            champion = self.champion or champion  # it may have been replaced meanwhile
            columns, seconds = await champion.answer(request, client_disconnected, timeout_s)
            return Answer(columns, champion.cached, "champion", seconds)
        self._run_in_background(self._compare_with_champion(request, columns, seconds))
        return Answer(columns, canary.cached, "canary", seconds)

    async def _compare_with_champion(
        self, request: InferenceRequest, canary_columns: Columns, canary_seconds: float
    ) -> None:
        if self.champion is None:
            return
        try:
            columns, seconds = await self.champion.answer(
                request, _is_disconnected, self._settings.limits.deadline_s
            )
        except RequestError:
            return  # the champion is overloaded: nothing can be learned about the canary
        max_slowdown = self._settings.canary.max_slowdown if self._settings.canary else 1
        self._judge_canary(
            failed=False,
            differs=not _has_same_answers(columns, canary_columns),
            slow=canary_seconds > max_slowdown * seconds + JITTER_S,
        )

    def _judge_canary(self, *, failed: bool, differs: bool, slow: bool) -> None:
        if self._trial is None or self._canary is None:
            return
        outcome = "differs" if differs else "same"
        metrics.COMPARED.labels("canary", "failed" if failed else outcome).inc()
        self._trial.add(failed=failed, differs=differs, slow=slow)
        reason = self._trial.verdict
        if reason:
            self._return_canary(self._canary.cached, reason)

    def _return_canary(self, cached: CachedVersion, reason: str) -> None:
        """Take the canary out of service and record why."""
        log.error("canary: %s version %s is returned: %s", cached.name, cached.version, reason)
        self._returns.add(cached, reason)
        self._stop_canary()
        self._recording = self._run_in_background(self._returns.record())

    def _stop_canary(self) -> None:
        canary = self._canary
        self._canary = None
        if canary:
            metrics.MODEL_VERSION.remove(canary.cached.name, "canary")
            self._run_in_background(canary.close())

    async def _mirror_to_shadow(
        self, shadow: LoadedModel, request: InferenceRequest, champion_columns: Columns
    ) -> None:
        """Send a request to the shadow too and compare its answer with the champion's."""
        if shadow.is_full:
            return
        try:
            columns, _ = await shadow.answer(
                request, _is_disconnected, self._settings.limits.deadline_s
            )
            outcome = "same" if _has_same_answers(champion_columns, columns) else "differs"
        except RequestError:
            outcome = "failed"
        metrics.COMPARED.labels("shadow", outcome).inc()

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _name_champion(self) -> str:
        if self.champion is None:
            return self._settings.uri
        return f"{self.champion.cached.name} version {self.champion.cached.version}"


def _has_same_answers(champion: Columns, other: Columns) -> bool:
    """Whether the first column of answers, the one that users act on, is equal in every row."""
    first, *_ = champion
    if first not in other:
        return False
    pairs = zip(champion[first], other[first], strict=False)
    return all(is_same_answer(one, two, tolerance=OTHER_MACHINE) for one, two in pairs)


def _is_disconnected() -> bool:
    """Report a connected client: a request that only compares versions has no client."""
    return False
