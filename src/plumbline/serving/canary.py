"""A canary: it answers the requests of a share of the keys, while the champion is asked too."""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any

from plumbline.contract.errors import (
    AbsentVersionError,
    BundleError,
    EvidenceError,
    ParamsError,
    PlumblineError,
    RefusedError,
)
from plumbline.registry import journal
from plumbline.registry.alerts import send_alert
from plumbline.registry.journal import Decision
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.serving import metrics
from plumbline.serving.errors import describe_error
from plumbline.serving.exchange import Exchange
from plumbline.serving.loaded_model import Answer, LoadedModel
from plumbline.serving.settings import Settings
from plumbline.serving.trial import Trial
from plumbline.statistics.betting import ALPHA

log = logging.getLogger(__name__)


def require_other(canary: CachedVersion, champion: CachedVersion) -> None:
    """Raise ParamsError where the canary is the champion."""
    if canary.version == champion.version:
        raise ParamsError(f"--canary {canary.version}: that version is the champion")


class CanarySlot:
    """The place of a canary beside the champion, empty when its trial is over."""

    def __init__(
        self,
        settings: Settings,
        cache: VerifiedModelCache,
        run_in_background: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._settings = settings
        self._cache = cache
        self._run_in_background = run_in_background
        self._model: LoadedModel | None = None
        self._end = settings.state / "canary-end"  # tells all workers that the trial is over
        self._claimed = settings.state / f"canary.{os.getpid()}"
        # Each process judges by its own requests: all together return a sound one by ALPHA.
        level = ALPHA / (settings.workers * settings.limits.canary_servers)
        self._trial = Trial(settings.limits.max_disagreement, level)
        self._champion: CachedVersion | None = None
        self._salt = ""
        self._due: Decision | None = None  # a return that the journal does not have yet

    def assign(self, exchange: Exchange) -> LoadedModel | None:
        """Assign a request by its key; returns the canary if it is to answer."""
        canary = self._settings.trial
        if canary and self._model and exchange.assign(self._salt, canary.share):
            return self._model
        return None

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
            require_other(cached, champion.cached)
            model = await LoadedModel.load(cached, self._settings.limits, "canary")
            self._champion = champion.cached
            self._salt = await asyncio.to_thread(_choose_salt, cached, self._champion)
        except Exception as error:  # noqa: BLE001  whatever its code raises
            log.warning("canary: not in service, the champion answers: %s", describe_error(error))
            self._end.touch()
        else:
            self._model = model

    def judge(self, exchange: Exchange, answer: Answer, tried: Answer) -> None:
        """Take the canary out of service if it fails too often, or differs too often.

        Who fails is returned: the journal has it. Who differs may be right, and is not.
        """
        num_differing = exchange.compare(answer, tried)
        if num_differing is None:
            self._trial.add_failure()
        else:
            self._trial.add_answer(exchange.request.num_rows, num_differing)
        cached, reason, question = tried.cached, self._trial.verdict, self._trial.question
        if reason and self._model:
            self.stop(f"{cached.name} version {cached.version} is returned: {reason}")
            self._due = Decision(
                cached.name, "return", cached.version, "", cached.bundle, "", reason
            )
            self._run_in_background(self.record_return())
        elif question and self._model:
            self.stop(f"taken out of service, not returned: {question}")

    async def follow_journal(self) -> None:
        """Stop a canary that another worker or server returned, or that may not answer any more.

        While registry or journal are unreachable the trial goes on.
        """
        await self.record_return()
        canary = self._model
        if canary is None:
            return
        if self._end.exists():
            self.stop("taken out of service: another worker did so")
            return
        try:
            await asyncio.to_thread(self._cache.fetch_version, canary.cached.version)
            self._salt = await asyncio.to_thread(_choose_salt, canary.cached, self._champion)
        except (AbsentVersionError, RefusedError, BundleError, EvidenceError) as error:
            self.stop(f"taken out of service: {error}")
        except Exception as error:  # noqa: BLE001  such as an unreachable registry
            log.debug("canary: stays in service: %s", describe_error(error))

    def stop(self, problem: str) -> None:
        """Take the canary, if there is one, out of service: the champion answers from now on."""
        canary, self._model = self._model, None
        if canary:
            log.warning("canary: %s", problem)
            metrics.MODEL_VERSION.labels(canary.cached.name, "canary").set(0)
            self._end.touch()  # a user must not meet it on some workers only
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
        """Write a return that is due into the journal, then stop; another worker may take over."""
        await self.record_return()
        if self._model:
            await self._model.close()
        self._claimed.unlink(missing_ok=True)

    def _claim(self, version: str) -> None:
        """Note that this worker has the canary: one that it ended would end the next one too."""
        claims = self._end.parent.glob("canary.*")
        died = [path for path in claims if not _is_running(int(path.suffix[1:])) and path.exists()]
        if self._end.exists() or died:
            raise ParamsError(
                f"--canary {version}: a worker had it before; start the server again to try it"
            )
        self._claimed.touch()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _choose_salt(canary: CachedVersion, champion: CachedVersion | None) -> str:
    """Choose what is hashed with a key: the same on every server, another one for each trial.

    The seal of the trial's plan cannot be known before; without a plan, the two bundles are hashed.
    """
    with journal.read_journal() as book:
        entries = book.read_entries(canary.name)
    plans = [each for each in entries if (each.action, each.bundle) == ("trial", canary.bundle)]
    return plans[-1].seal if plans else f"{champion and champion.bundle} {canary.bundle}"


def _append_to_journal(decision: Decision) -> None:
    """Append a return, unless another server returned this bundle first."""
    with journal.lock_journal() as locked:
        entries = locked.read_entries(decision.model)
        returned = [entry.bundle for entry in entries if entry.action == "return"]
        if decision.bundle in returned:
            return
        entry = locked.append(decision)
    send_alert(entry, "returned")
