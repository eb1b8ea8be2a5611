"""A canary: it answers a share of the requests, and the champion answers them too, to compare."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from plumbline.contract.answers import count_differing_rows
from plumbline.contract.errors import (
    AbsentVersionError,
    BundleError,
    EvidenceError,
    ParamsError,
    PlumblineError,
    RefusedError,
)
from plumbline.registry import journal
from plumbline.registry.journal import Decision
from plumbline.registry.reader.verified_cache import VerifiedModelCache
from plumbline.serving import metrics
from plumbline.serving.disagreement_limit import find_disagreement_limit
from plumbline.serving.errors import RequestError, describe_error
from plumbline.serving.inference_request import Columns, InferenceRequest
from plumbline.serving.loaded_model import Answer, LoadedModel
from plumbline.serving.settings import Settings
from plumbline.serving.trial import Trial

FULL = 429
AskChampion = Callable[[InferenceRequest, float], Awaitable[Answer]]
log = logging.getLogger(__name__)


class CanarySlot:
    """The place of a canary beside the champion, empty when its trial is over."""

    def __init__(
        self,
        settings: Settings,
        cache: VerifiedModelCache,
        ask_champion: AskChampion,
        run_in_background: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._settings = settings
        self._cache = cache
        self._ask_champion = ask_champion
        self._run_in_background = run_in_background
        self._model: LoadedModel | None = None
        self._trial = Trial(1.0)
        self._due: Decision | None = None  # a return that the journal does not have yet

    def draw(self) -> LoadedModel | None:
        """Return the canary for its share of the requests; None for all others."""
        canary = self._settings.trial
        is_drawn = canary and random.random() < canary.share  # noqa: S311  not for security
        return self._model if is_drawn else None

    async def start(self, champion: LoadedModel) -> None:
        """Load the canary and begin its trial; one that cannot be used is not in service.

        `plumbline serve` refused one that was unusable when it was called. A worker that starts
        later must not stop the server: the champion may have moved, or the registry be gone.
        """
        canary = self._settings.trial
        if canary is None:
            return
        try:
            self._claim(canary.version)
            cached = await asyncio.to_thread(self._cache.fetch_version, canary.version)
            limit = await asyncio.to_thread(
                find_disagreement_limit, self._settings, cached, champion.cached
            )
            model = await LoadedModel.load(cached, self._settings.limits, "canary")
        except Exception as error:  # noqa: BLE001  whatever its code raises
            log.warning("canary: not in service, the champion answers: %s", describe_error(error))
        else:
            self._trial = Trial(limit.share)
            self._model = model

    async def answer(self, canary: LoadedModel, request: InferenceRequest) -> Answer:
        """Answer with the canary; where it cannot, with the champion, so that no client loses."""
        timeout_s = self._settings.limits.deadline_s / 2
        try:
            columns, seconds = await canary.answer(request, timeout_s)
        except RequestError as error:
            answer = await self._ask_champion(request, timeout_s)
            if error.status != FULL:
                metrics.COMPARED.labels("canary", "failed").inc(request.num_rows)
                self._trial.add_failure()
                self._judge(canary)
            return answer
        self._run_in_background(self._compare(canary, request, columns))
        return Answer(columns, canary.cached, "canary", seconds)

    async def follow_journal(self) -> None:
        """Stop a canary that another worker or server returned, or that may not answer any more.

        While registry or journal are unreachable the trial goes on.
        """
        await self.record_return()
        canary = self._model
        if canary is None:
            return
        try:
            await asyncio.to_thread(self._cache.fetch_version, canary.cached.version)
        except (AbsentVersionError, RefusedError, BundleError, EvidenceError) as error:
            self.stop(f"taken out of service: {error}")
        except Exception as error:  # noqa: BLE001  such as an unreachable registry
            log.debug("canary: stays in service: %s", describe_error(error))

    def stop(self, problem: str) -> None:
        """Take the canary, if there is one, out of service: the champion answers from now on."""
        canary, self._model = self._model, None
        if canary:
            log.warning("canary: %s", problem)
            metrics.MODEL_VERSION.remove(canary.cached.name, "canary")
            self._run_in_background(canary.close())

    async def record_return(self) -> None:
        """Write a return that is due into the journal; if it is unreachable, at the next poll.

        One that is cancelled may still be writing in its thread: the next call writes it again,
        which adds no second entry.
        """
        decision = self._due
        if decision is None:
            return
        try:
            await asyncio.to_thread(_append_to_journal, decision)
        except (PlumblineError, OSError) as error:
            log.warning("the return of the canary is not in the journal yet: %s", error)
        else:
            self._due = None

    async def close(self) -> None:
        """Write a return that is due into the journal, then stop."""
        await self.record_return()
        if self._model:
            await self._model.close()

    def _claim(self, version: str) -> None:
        """Note that a worker has had the canary: one that ended it would end the next one too."""
        try:
            if self._settings.state:
                (self._settings.state / "canary").touch(exist_ok=False)
        except FileExistsError:
            raise ParamsError(
                f"--canary {version}: a worker had it before; start the server again to try it"
            ) from None

    async def _compare(
        self, canary: LoadedModel, request: InferenceRequest, columns: Columns
    ) -> None:
        """Ask the champion the same, and count the rows whose answers differ."""
        try:
            answer = await self._ask_champion(request, self._settings.limits.deadline_s)
        except RequestError:
            return  # the champion is overloaded: nothing can be learned about the canary
        num_differing = count_differing_rows(answer.columns, columns)
        metrics.count_compared("canary", request.num_rows, num_differing)
        self._trial.add_answer(request.num_rows, num_differing)
        self._judge(canary)

    def _judge(self, canary: LoadedModel) -> None:
        """Return the canary if it is worse than the champion, unless it was stopped meanwhile."""
        reason = self._trial.verdict
        if reason is None or self._model is not canary:
            return
        cached = canary.cached
        self.stop(f"{cached.name} version {cached.version} is returned: {reason}")
        self._due = Decision(cached.name, "return", cached.version, "", cached.bundle, "", reason)
        self._run_in_background(self.record_return())


def _append_to_journal(decision: Decision) -> None:
    """Append a return, unless another server returned this bundle first."""
    with journal.lock_journal() as locked:
        entries = locked.read_entries(decision.model)
        returned = [entry.bundle for entry in entries if entry.action == "return"]
        if decision.bundle not in returned:
            locked.append(decision)
