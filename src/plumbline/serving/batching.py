"""Micro-batches: requests that wait together are answered by one call of the predictor, off the event loop."""

import asyncio
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from plumbline.contract.task import Predictor
from plumbline.serving import metrics
from plumbline.serving.inputs import Asked, Columns
from plumbline.serving.refusals import Refusal, bad, late, not_ready, overloaded
from plumbline.serving.settings import Limits

SWEEP_S = 0.05
STILL_S = 1.0  # late by more than this, but for its own work, a process stood still: that time does not count
HUNG = 70  # exit status of a worker whose predictor does not come back
log = logging.getLogger(__name__)


@dataclass(eq=False)
class Request:
    """One request that waits for its answer."""

    asked: Asked
    answer: "asyncio.Future[Columns]"
    deadline: float
    gone: Callable[[], bool]  # whether the client has left
    settings: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.settings = tuple(self.asked.params.items())


class Batcher:
    """One predictor, one thread that asks it, and a bounded queue before it.

    No request waits for company: whatever is there when the thread is free goes together. Batches of equal length
    are the predictor's own affair, which sorts the rows it is given.
    """

    def __init__(self, predictor: Predictor, limits: Limits) -> None:
        self._predictor, self._limits = predictor, limits
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Request] = deque()
        self._rows = 0  # that wait
        self._open: set[Request] = set()  # without an answer yet
        self._busy_since: float | None = None
        self._still = 0.0
        self._closed = False
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="predictor", daemon=True)
        self._thread.start()
        self._sweeper = self._loop.create_task(self._sweep())

    @property
    def full(self) -> bool:
        """Whether a request would be refused."""
        return self._rows >= self._limits.waiting_rows

    def ask(
        self, asked: Asked, gone: Callable[[], bool], timeout_s: float
    ) -> "asyncio.Future[Columns]":
        """The answer to come; the future gets a Refusal where it is too late.

        Raises Refusal: 429 where too much waits, 503 after the end.
        """
        if self._closed:
            raise not_ready()
        if self._rows and self._rows + asked.num_rows > self._limits.waiting_rows:
            raise overloaded()
        request = Request(asked, self._loop.create_future(), self._now() + timeout_s, gone)
        self._open.add(request)
        with self._wake:
            self._waiting.append(request)
            self._rows += asked.num_rows
            self._wake.notify()
        return request.answer

    async def close(self) -> None:
        """Answer what waits, then end."""
        while self._open:
            await asyncio.sleep(SWEEP_S / 5)
        self._sweeper.cancel()
        with self._wake:
            self._closed = True
            self._wake.notify()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._waiting and not self._closed:
                    self._wake.wait()
                if not self._waiting:
                    return
                batch = self._take()
                self._busy_since = self._now()
            outcomes = self._answers(batch)
            self._busy_since = None
            if outcomes:
                self._loop.call_soon_threadsafe(self._deliver, outcomes)

    def _take(self) -> list[Request]:
        """The longest run of waiting requests with the same parameters that fits into a batch."""
        batch = [self._waiting.popleft()]
        rows = batch[0].asked.num_rows
        while self._waiting and self._waiting[0].settings == batch[0].settings:
            if rows + self._waiting[0].asked.num_rows > self._limits.batch_rows:
                break
            batch.append(self._waiting.popleft())
            rows += batch[-1].asked.num_rows
        self._rows -= rows
        return batch

    def _answers(self, batch: list[Request]) -> list[tuple[Request, Columns | Exception]]:
        asking = [request for request in batch if not request.answer.done() and not request.gone()]
        done: list[tuple[Request, Columns | Exception]] = [
            (r, late()) for r in batch if r not in asking
        ]
        if not asking:
            return done
        metrics.BATCH_ROWS.observe(sum(request.asked.num_rows for request in asking))
        names = asking[0].asked.columns
        columns = {
            name: [value for r in asking for value in r.asked.columns[name]] for name in names
        }
        try:
            answers = self._predictor.predict(columns, **asking[0].asked.params)
        except Exception as error:  # noqa: BLE001  whatever the model raises is told to its client alone
            if len(asking) == 1:
                return [*done, (asking[0], error)]
            return done + [outcome for request in asking for outcome in self._answers([request])]
        start = 0
        for request in asking:
            end = start + request.asked.num_rows
            done.append((request, {name: values[start:end] for name, values in answers.items()}))
            start = end
        return done

    def _deliver(self, outcomes: list[tuple[Request, Columns | Exception]]) -> None:
        for request, outcome in outcomes:
            self._open.discard(request)
            if request.answer.done():
                continue
            if isinstance(outcome, Exception):
                request.answer.set_exception(_refusal(outcome))
            else:
                request.answer.set_result(outcome)

    async def _sweep(self) -> None:
        """Give up what is late, and the whole worker where the predictor does not come back."""
        while True:
            before, worked = time.monotonic(), time.process_time()
            await asyncio.sleep(SWEEP_S)
            still = time.monotonic() - before - SWEEP_S - (time.process_time() - worked)
            self._still += still if still > STILL_S else 0
            now, since = self._now(), self._busy_since
            for request in [request for request in self._open if request.deadline <= now]:
                self._open.discard(request)
                if not request.answer.done():
                    request.answer.set_exception(late())
            if since is not None and now - since > self._limits.hang_s:
                log.critical(
                    "the predictor has not answered for %.0f s; this worker ends",
                    self._limits.hang_s,
                )
                os._exit(HUNG)

    def _now(self) -> float:
        """Seconds on a clock that stands still when the process does."""
        return time.monotonic() - self._still


def _refusal(error: Exception) -> Refusal:
    """A ValueError names a bad row; all else is the model's fault, told in the log and not to the client."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ValueError):
        return bad(str(error)[:300])
    reference = os.urandom(6).hex()
    log.error("the model failed (reference %s)", reference, exc_info=error)
    return Refusal(500, "MODEL_FAILED", f"the model failed; reference {reference}")
