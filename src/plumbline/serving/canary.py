"""A canary in service: it answers requests, and the champion answers them too, for comparison."""

import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from plumbline.contract.answers import count_differing_rows
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving import metrics
from plumbline.serving.errors import RequestError
from plumbline.serving.inference_request import Columns, InferenceRequest
from plumbline.serving.loaded_model import Answer, LoadedModel
from plumbline.serving.trial import Trial

JITTER_S = 0.01  # on a busy machine two answers of one model may differ in time by this much
FULL = 429
AskChampion = Callable[[InferenceRequest, Callable[[], bool], float], Awaitable[Answer]]


class CanaryInService:
    """A canary with its trial. `give_back` is called once, with the reason why it is worse."""

    def __init__(
        self,
        model: LoadedModel,
        trial: Trial,
        deadline_s: float,
        ask_champion: AskChampion,
        run_in_background: Callable[[Coroutine[Any, Any, None]], object],
        give_back: Callable[[CachedVersion, str], None],
    ) -> None:
        self.model = model
        self._trial = trial
        self._deadline_s = deadline_s
        self._ask_champion = ask_champion
        self._run_in_background = run_in_background
        self._give_back = give_back
        self._is_over = False

    @property
    def is_on_trial(self) -> bool:
        """Whether what it answers is still compared and judged."""
        return not self._is_over

    async def answer(
        self, request: InferenceRequest, client_disconnected: Callable[[], bool]
    ) -> Answer:
        """Answer with the canary; where it cannot, with the champion, so that no client loses."""
        timeout_s = self._deadline_s / 2
        try:
            columns, seconds = await self.model.answer(request, client_disconnected, timeout_s)
        except RequestError as error:
            if client_disconnected():
                raise
            answer = await self._ask_champion(request, client_disconnected, timeout_s)
            if error.status != FULL:
                self._judge_failure(request)
            return answer
        self._run_in_background(self._compare(request, columns, seconds))
        return Answer(columns, self.model.cached, "canary", seconds)

    def end_trial(self) -> None:
        """What is still compared has no consequence any more."""
        self._is_over = True

    async def _compare(self, request: InferenceRequest, columns: Columns, seconds: float) -> None:
        """Ask the champion the same, and count the rows whose answers differ."""
        try:
            answer = await self._ask_champion(request, has_no_client, self._deadline_s)
        except RequestError:
            return  # the champion is overloaded: nothing can be learned about the canary
        num_differing = count_differing_rows(answer.columns, columns)
        metrics.count_compared("canary", request.num_rows, num_differing)
        slow = seconds > self._trial.max_slowdown * answer.seconds + JITTER_S
        now_s = time.monotonic()
        self._trial.add_answer(request.num_rows, num_differing, slow=slow, now_s=now_s)
        self._judge()

    def _judge_failure(self, request: InferenceRequest) -> None:
        """Count a request that the champion answered and the canary did not."""
        metrics.COMPARED.labels("canary", "failed").inc(request.num_rows)
        self._trial.add_failure()
        self._judge()

    def _judge(self) -> None:
        reason = self._trial.verdict
        if reason and not self._is_over:
            self._is_over = True
            self._give_back(self.model.cached, reason)


def has_no_client() -> bool:
    """Report a connected client: a request that only compares versions has no client."""
    return False
