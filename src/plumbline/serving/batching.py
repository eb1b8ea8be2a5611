"""Micro-batches: requests that wait together are answered by one call of the predictor.

The predictor runs in a thread of its own, so that the event loop is never blocked.
"""

import asyncio
import logging
import os
import threading
import time
from collections import deque
from dataclasses import dataclass, field

from plumbline.contract.task import Predictor
from plumbline.serving import metrics
from plumbline.serving.errors import BadRequestError, OverloadedError, RequestError
from plumbline.serving.inference_request import Columns, InferenceRequest
from plumbline.serving.settings import Limits

WATCH_S = 0.25
EXIT_HUNG = 70  # exit status of a worker whose predictor does not return
log = logging.getLogger(__name__)


@dataclass(eq=False)
class QueuedRequest:
    """One request that waits for its answer; nobody wants one whose `answer` is done."""

    request: InferenceRequest
    answer: "asyncio.Future[Columns]"
    since: float = field(default_factory=time.monotonic)


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
        self._num_unanswered = 0
        self._busy_since: float | None = None
        self._closed = False
        self._wake = threading.Condition()
        threading.Thread(target=self._run, name="predictor", daemon=True).start()
        self._watcher = self._loop.create_task(self._watch_predictor())

    @property
    def is_full(self) -> bool:
        """Whether a new request would be refused because too many rows wait."""
        return self._queued_rows >= self._limits.queue_rows

    async def answer(self, request: InferenceRequest, timeout_s: float) -> Columns:
        """Queue a request and return its answer. One that is cancelled is not computed.

        Raises OverloadedError if the queue is full, RequestError after `timeout_s` (504), after
        `close` (503), or with what the model raised.
        """
        queued = self._enqueue(request)
        self._num_unanswered += 1
        try:
            async with asyncio.timeout(timeout_s):
                return await queued.answer
        except TimeoutError:
            raise RequestError(
                504, "DEADLINE_EXCEEDED", "the answer was not ready before the deadline"
            ) from None
        finally:
            self._num_unanswered -= 1

    async def close(self) -> None:
        """Answer what is queued, then stop the thread."""
        while self._num_unanswered:
            await asyncio.sleep(0.01)
        self._watcher.cancel()
        with self._wake:
            self._closed = True
            self._wake.notify()

    def _enqueue(self, request: InferenceRequest) -> QueuedRequest:
        if self._closed:
            raise RequestError(503, "NOT_READY", "the model is not ready")
        num_rows = self._queued_rows + request.num_rows
        if self.is_full or (self._queued_rows and num_rows > self._limits.queue_rows):
            raise OverloadedError
        queued = QueuedRequest(request, self._loop.create_future())
        with self._wake:
            self._queue.append(queued)
            self._queued_rows += request.num_rows
            self._wake.notify()
        return queued

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closed:
                    self._wake.wait()
                if not self._queue:
                    return
                batch = self._take_batch()
                start = self._busy_since = time.monotonic()
            metrics.QUEUE_SECONDS.observe(start - batch[0].since)
            wanted = [queued for queued in batch if not queued.answer.done()]
            outcomes = self._answer_batch(wanted) if wanted else []
            self._busy_since = None
            if outcomes:
                self._loop.call_soon_threadsafe(_deliver, outcomes)

    def _take_batch(self) -> list[QueuedRequest]:
        """Take the longest run of requests with the same parameters that fits into a batch."""
        batch = [self._queue.popleft()]
        num_rows = batch[0].request.num_rows
        while self._queue and self._queue[0].request.params == batch[0].request.params:
            if num_rows + self._queue[0].request.num_rows > self._limits.batch_rows:
                break
            batch.append(self._queue.popleft())
            num_rows += batch[-1].request.num_rows
        self._queued_rows -= num_rows
        return batch

    def _answer_batch(self, batch: list[QueuedRequest]) -> list[Outcome]:
        """Answer all at once; where that fails, one by one, so that each gets its own error."""
        metrics.BATCH_ROWS.observe(sum(queued.request.num_rows for queued in batch))
        try:
            answers = self._predictor.predict(_join_columns(batch), **batch[0].request.params)
            return _split_answers(batch, answers)
        except BaseException as error:  # noqa: BLE001  also SystemExit; it goes to its client alone
            if len(batch) == 1:
                return [(batch[0], error)]
            return [outcome for queued in batch for outcome in self._answer_batch([queued])]

    async def _watch_predictor(self) -> None:
        """End the worker, which is then replaced, if the predictor does not return."""
        timeout_s = self._limits.predict_timeout_s
        while True:
            await asyncio.sleep(WATCH_S)
            busy_since = self._busy_since
            if busy_since is not None and time.monotonic() - busy_since > timeout_s:
                log.critical(
                    "timeout: the predictor has not answered for %.0f s; this worker exits",
                    timeout_s,
                )
                os._exit(EXIT_HUNG)


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


def _deliver(outcomes: list[Outcome]) -> None:
    for queued, outcome in outcomes:
        if queued.answer.done():
            continue
        if isinstance(outcome, BaseException):
            queued.answer.set_exception(_as_request_error(outcome))
        else:
            queued.answer.set_result(outcome)


def _as_request_error(error: BaseException) -> RequestError:
    """Convert an error of the model: a ValueError names a bad row, all else goes to the log."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, ValueError):
        return BadRequestError(str(error)[:300])
    reference = os.urandom(6).hex()
    log.error("the model failed (reference %s)", reference, exc_info=error)
    return RequestError(500, "MODEL_FAILED", f"the model failed; reference {reference}")
