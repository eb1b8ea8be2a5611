"""Micro-batches: requests that wait together are answered by one call of the predictor.

The predictor runs in a thread of its own, so that the event loop is never blocked.
"""

import asyncio
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from plumbline.contract.task import Predictor
from plumbline.serving import metrics
from plumbline.serving.errors import (
    BadRequestError,
    DeadlineExceededError,
    NotReadyError,
    OverloadedError,
    RequestError,
)
from plumbline.serving.inference_request import Columns, InferenceRequest
from plumbline.serving.priority import lower_thread_priority
from plumbline.serving.row_speed import RowSpeed
from plumbline.serving.settings import Limits

SWEEP_S = 0.05
SHORT_QUEUE_ROWS = 8  # may wait even for a slow model, as long as they are answered in time
# A sweep that is later than this, its own work not counted, means that the process was suspended:
# that time does not count for any deadline.
SUSPENDED_S = 1.0
EXIT_HUNG = 70  # exit status of a worker whose predictor does not return
log = logging.getLogger(__name__)


@dataclass(eq=False)
class QueuedRequest:
    """One request that waits for its answer."""

    request: InferenceRequest
    answer: "asyncio.Future[Columns]"
    since: float
    deadline: float
    client_disconnected: Callable[[], bool]
    params: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.params = tuple(self.request.params.items())

    @property
    def is_wanted(self) -> bool:
        """Whether somebody still waits for the answer."""
        return not self.answer.done() and not self.client_disconnected()


Outcome = tuple[QueuedRequest, Columns | BaseException]


class Batcher:
    """One predictor, one thread that calls it, and a bounded queue in front of it.

    No request waits for others: when the thread is free, it takes what is in the queue. Sorting
    rows by length is up to the predictor.
    """

    def __init__(self, predictor: Predictor, limits: Limits) -> None:
        self._predictor = predictor
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._queue: deque[QueuedRequest] = deque()
        self._queued_rows = 0
        self._running_rows = 0
        self._speed = RowSpeed()
        self._unanswered: set[QueuedRequest] = set()
        self._busy_since: float | None = None
        self._suspended_s = 0.0
        self._closed = False
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="predictor", daemon=True)
        self._thread.start()
        self._sweeper = self._loop.create_task(self._sweep_forever())

    @property
    def is_full(self) -> bool:
        """Whether a new request would be refused: too many rows wait, or for too long."""
        if self._queued_rows >= self._limits.waiting_rows:
            return True
        short_s = self._speed.estimate_seconds(SHORT_QUEUE_ROWS)
        max_wait = min(max(self._limits.waiting_s, short_s), self._limits.deadline_s)
        return self._speed.estimate_seconds(self._queued_rows) > max_wait

    @property
    def retry_after_s(self) -> int:
        """Whole seconds in which the model answers what waits now, or the deadline passes."""
        wait = self._speed.estimate_seconds(self._queued_rows + self._running_rows)
        return max(1, math.ceil(min(wait, self._limits.deadline_s)))

    def submit(
        self, request: InferenceRequest, client_disconnected: Callable[[], bool], timeout_s: float
    ) -> "asyncio.Future[Columns]":
        """Queue a request; the future gets the answer or a RequestError.

        Raises OverloadedError if the queue is full, NotReadyError after `close`.
        """
        if self._closed:
            raise NotReadyError
        num_rows = self._queued_rows + request.num_rows
        if self.is_full or (self._queued_rows and num_rows > self._limits.waiting_rows):
            raise OverloadedError(self.retry_after_s)
        now = self._read_clock()
        queued = QueuedRequest(
            request, self._loop.create_future(), now, now + timeout_s, client_disconnected
        )
        self._unanswered.add(queued)
        with self._wake:
            self._queue.append(queued)
            self._queued_rows += request.num_rows
            self._wake.notify()
        return queued.answer

    async def close(self) -> None:
        """Answer what is queued, then stop the thread."""
        while self._unanswered:
            await asyncio.sleep(SWEEP_S / 5)
        self._sweeper.cancel()
        with self._wake:
            self._closed = True
            self._wake.notify()

    def _run(self) -> None:
        lower_thread_priority()
        while True:
            with self._wake:
                while not self._queue and not self._closed:
                    self._wake.wait()
                if not self._queue:
                    return
                batch = self._take_batch()
                start = self._busy_since = self._read_clock()
            metrics.QUEUE_SECONDS.observe(start - batch[0].since)
            outcomes = self._answer_batch(batch)
            self._busy_since = None
            self._measure_call(outcomes, self._read_clock() - start)
            if outcomes:
                self._loop.call_soon_threadsafe(self._deliver, outcomes)

    def _take_batch(self) -> list[QueuedRequest]:
        """Take the longest run of requests with the same parameters that fits into a batch."""
        batch = [self._queue.popleft()]
        num_rows = batch[0].request.num_rows
        while self._queue and self._queue[0].params == batch[0].params:
            if num_rows + self._queue[0].request.num_rows > self._limits.batch_rows:
                break
            batch.append(self._queue.popleft())
            num_rows += batch[-1].request.num_rows
        self._queued_rows -= num_rows
        self._running_rows = num_rows
        return batch

    def _measure_call(self, outcomes: list[Outcome], seconds: float) -> None:
        """Note how long the rows took; those that nobody wanted any more took nothing."""
        self._running_rows = 0
        num_rows = sum(
            queued.request.num_rows
            for queued, outcome in outcomes
            if not isinstance(outcome, DeadlineExceededError)
        )
        if num_rows:
            self._speed.add_call(num_rows, seconds)

    def _answer_batch(self, batch: list[QueuedRequest]) -> list[Outcome]:
        wanted = [queued for queued in batch if queued.is_wanted]
        outcomes: list[Outcome] = [
            (queued, DeadlineExceededError()) for queued in batch if queued not in wanted
        ]
        if not wanted:
            return outcomes
        metrics.BATCH_ROWS.observe(sum(queued.request.num_rows for queued in wanted))
        try:
            answers = self._predictor.predict(_join_columns(wanted), **wanted[0].request.params)
            return outcomes + _split_answers(wanted, answers)
        except BaseException as error:  # noqa: BLE001  also SystemExit; it goes to its client alone
            if len(wanted) == 1:
                outcomes.append((wanted[0], error))
                return outcomes
            for queued in wanted:
                outcomes += self._answer_batch([queued])
            return outcomes

    def _deliver(self, outcomes: list[Outcome]) -> None:
        for queued, outcome in outcomes:
            self._unanswered.discard(queued)
            if queued.answer.done():
                continue
            if isinstance(outcome, BaseException):
                queued.answer.set_exception(_as_request_error(outcome))
            else:
                queued.answer.set_result(outcome)

    async def _sweep_forever(self) -> None:
        """Give up late requests, and the whole worker if the predictor does not return."""
        while True:
            before = time.monotonic()
            worked_before = time.process_time()
            await asyncio.sleep(SWEEP_S)
            worked = time.process_time() - worked_before
            suspended = time.monotonic() - before - SWEEP_S - worked
            if suspended > SUSPENDED_S:
                self._suspended_s += suspended
            now = self._read_clock()
            # Read before late requests are given up: the thread may change it meanwhile.
            busy_since = self._busy_since
            self._give_up_late_requests(now)
            if busy_since is not None and now - busy_since > self._limits.predict_timeout_s:
                log.critical(
                    "timeout: the predictor has not answered for %.0f s; this worker exits",
                    self._limits.predict_timeout_s,
                )
                os._exit(EXIT_HUNG)

    def _give_up_late_requests(self, now: float) -> None:
        late = [queued for queued in self._unanswered if queued.deadline <= now]
        for queued in late:
            self._unanswered.discard(queued)
            if not queued.answer.done():
                queued.answer.set_exception(DeadlineExceededError())

    def _read_clock(self) -> float:
        """Return seconds on a clock that stops while the process is suspended."""
        return time.monotonic() - self._suspended_s


def _join_columns(batch: list[QueuedRequest]) -> Columns:
    """Return the rows of all requests, one after another."""
    columns: Columns = {name: [] for name in batch[0].request.columns}
    for queued in batch:
        for name, values in columns.items():
            values.extend(queued.request.columns[name])
    return columns


def _split_answers(batch: list[QueuedRequest], answers: Columns) -> list[Outcome]:
    """Give each request the answers to its own rows; RuntimeError where some are missing."""
    num_rows = sum(queued.request.num_rows for queued in batch)
    for name, column in answers.items():
        if len(column) != num_rows:
            raise RuntimeError(f"{name}: {len(column)} answers to {num_rows} rows")
    outcomes: list[Outcome] = []
    start = 0
    for queued in batch:
        end = start + queued.request.num_rows
        outcomes.append((queued, {name: column[start:end] for name, column in answers.items()}))
        start = end
    return outcomes


def _as_request_error(error: BaseException) -> RequestError:
    """Convert an error of the model: a ValueError names a bad row, all else goes to the log."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, ValueError):
        return BadRequestError(str(error)[:300])
    reference = os.urandom(6).hex()
    log.error("the model failed (reference %s)", reference, exc_info=error)
    return RequestError(500, "MODEL_FAILED", f"the model failed; reference {reference}")
