"""The place of a canary beside the champion: it is filled, renewed, and emptied for good."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from typing import Any

from plumbline.contract.errors import (
    AbsentVersionError,
    BundleError,
    EvidenceError,
    PlumblineError,
    RefusedError,
)
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.serving import metrics
from plumbline.serving.canary import AskChampion, CanaryInService
from plumbline.serving.canary_mark import CanaryMark
from plumbline.serving.canary_return import ReturnRecorder
from plumbline.serving.disagreement_limit import DisagreementLimit, find_disagreement_limit
from plumbline.serving.loaded_model import LoadedModel
from plumbline.serving.settings import Canary, Settings
from plumbline.serving.trial import Trial

log = logging.getLogger(__name__)


class CanarySlot:
    """Holds the canary that the settings name, while it is on trial."""

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
        self._canary: CanaryInService | None = None
        self._returns = ReturnRecorder()
        self._recording: asyncio.Task[None] | None = None
        self._mark = CanaryMark(settings.state)

    def draw(self) -> CanaryInService | None:
        """Return the canary for its share of the requests; None for all others.

        Between two trials it answers nothing: nobody would notice what it does.
        """
        if self._canary is None or self._settings.canary is None:
            return None
        if not self._canary.is_on_trial:
            return None
        is_drawn = random.random() < self._settings.canary.share  # noqa: S311  not for security
        return self._canary if is_drawn else None

    async def start(self, champion: LoadedModel) -> None:
        """Load the canary and begin its trial; one that cannot be used is not in service.

        `plumbline serve` refused one that was unusable when it was called. A worker that starts
        later must not stop the server: the champion may have moved, or the registry be gone.
        """
        settings = self._settings.canary
        if settings is None:
            return
        try:
            self._mark.set(settings.version)
            cached = await asyncio.to_thread(self._cache.fetch_version, settings.version)
            limit = await self._find_limit(settings, cached, champion)
            model = await LoadedModel.load(cached, self._settings.limits)
        except (PlumblineError, OSError) as error:
            log.warning("canary: not in service, the champion answers every request: %s", error)
        except Exception:
            log.exception("canary: not in service, the champion answers every request")
        else:
            model.export_metrics("canary")
            self._canary = self._begin_trial(settings, model, limit)

    async def renew(self, champion: LoadedModel) -> None:
        """Begin a new trial beside a new champion; a canary never compared with it is stopped."""
        canary = self._canary
        settings = self._settings.canary
        if canary is None or settings is None:
            return
        canary.end_trial()  # first: its limit is about the old champion
        try:
            limit = await self._find_limit(settings, canary.model.cached, champion)
        except (PlumblineError, OSError) as error:
            log.warning("canary: taken out of service, not returned: %s", error)
            self._stop()
        except Exception:
            log.exception("canary: taken out of service, not returned")
            self._stop()
        else:
            self._canary = self._begin_trial(settings, canary.model, limit)

    async def follow_journal(self) -> None:
        """Stop a canary that another server returned, or that may not answer for another reason.

        One whose version was deleted is stopped too: nobody found it worse, so it is not returned.
        While registry or journal are unreachable the trial goes on.
        """
        canary = self._canary
        if canary is None:
            return
        number = canary.model.cached.version
        try:
            await asyncio.to_thread(self._cache.fetch_version, number)
        except AbsentVersionError as error:
            self._take_out(canary, f"taken out of service, not returned: {error}")
        except (RefusedError, BundleError, EvidenceError) as error:
            self._take_out(canary, f"taken out of service: {error}")
        except (PlumblineError, OSError) as error:
            log.debug("canary: stays in service: %s", error)
        except Exception:
            log.exception("canary: stays in service")

    async def record_return(self) -> None:
        """Write a return that is due into the journal."""
        await self._returns.record()

    async def close(self) -> None:
        """Write a return that is due into the journal, then stop."""
        if self._recording:
            await self._recording
        await self._returns.record()
        if self._canary:
            await self._canary.model.close()
        self._mark.remove()

    async def _find_limit(
        self, settings: Canary, cached: CachedVersion, champion: LoadedModel
    ) -> DisagreementLimit:
        """Find the limit of a trial beside this champion. ParamsError where none is known."""
        return await asyncio.to_thread(find_disagreement_limit, settings, cached, champion.cached)

    def _begin_trial(
        self, settings: Canary, model: LoadedModel, limit: DisagreementLimit
    ) -> CanaryInService:
        return CanaryInService(
            model,
            Trial(limit.share, settings.max_slowdown),
            self._settings.limits.deadline_s,
            self._ask_champion,
            self._run_in_background,
            self._return_canary,
        )

    def _return_canary(self, cached: CachedVersion, reason: str) -> None:
        """Take the canary out of service and record why."""
        log.error("canary: %s version %s is returned: %s", cached.name, cached.version, reason)
        self._returns.add(cached, reason)
        self._mark.set_returned()
        self._stop()
        self._recording = asyncio.get_running_loop().create_task(self._returns.record())

    def _take_out(self, canary: CanaryInService, problem: str) -> None:
        """Stop `canary`, unless it was returned here meanwhile."""
        if self._canary is canary:
            log.warning("canary: %s", problem)
            canary.end_trial()
            self._stop()

    def _stop(self) -> None:
        canary = self._canary
        self._canary = None
        if canary:
            metrics.MODEL_VERSION.remove(canary.model.cached.name, "canary")
            self._run_in_background(canary.model.close())
