"""How long a predictor takes to answer rows of the test split, whatever else the machine does."""

import itertools
import time
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from plumbline.contract.task import Columns, Predictor, count_rows
from plumbline.registry.package.clean_process import time_call

BATCH_ROWS = 32
MIN_CALLS, MAX_CALLS = 5, 200
MAX_SECONDS = 2.0
WARM_UP_SECONDS = 0.5  # of the MIN_CALLS calls at most that are not timed


def measure_latency(predictor: Predictor, columns: Columns) -> dict[str, float]:
    """Time calls with one row and with a batch of 32 rows.

    Returns one_p50, one_p95, batch_p50, batch_p95 in ms a call, less what other programs took of
    it, rows_per_s in batches, and the slowdown by these programs: how many times as long it took.
    """
    one, one_here = _time_calls(predictor, columns, 1)
    batch, batch_here = _time_calls(predictor, columns, BATCH_ROWS)
    latency = {
        "one_p50": float(np.percentile(one, 50)),
        "one_p95": float(np.percentile(one, 95)),
        "batch_p50": float(np.percentile(batch, 50)),
        "batch_p95": float(np.percentile(batch, 95)),
    }
    return latency | {
        "rows_per_s": 1000 * BATCH_ROWS / latency["batch_p50"],
        "slowdown": sum(one_here + batch_here) / sum(one + batch),
    }


def _time_calls(
    predictor: Predictor, columns: Columns, num_rows: int
) -> tuple[list[float], list[float]]:
    """Return what `time_call` does, of each of several calls on different rows."""
    batches = _cut_batches(columns, num_rows)
    _warm_up(predictor, batches)
    times: list[float] = []
    here: list[float] = []
    while len(here) < MIN_CALLS or (len(here) < MAX_CALLS and not _is_time_over(here)):
        least, taken = time_call(partial(predictor.predict, next(batches)))
        times.append(least)
        here.append(taken)
    return times, here


def _warm_up(predictor: Predictor, batches: Iterator[dict[str, list[Any]]]) -> None:
    """Ask without timing: the first calls fill caches, and slow calls need fewer of them."""
    end = time.perf_counter() + WARM_UP_SECONDS
    for _ in range(MIN_CALLS):
        predictor.predict(next(batches))
        if time.perf_counter() > end:
            return


def _is_time_over(times: list[float]) -> bool:
    """Whether typical calls took MAX_SECONDS; one or two slow calls do not end the measurement."""
    typical_total = len(times) * median(times)
    return max(typical_total, sum(times) / 10) >= 1000 * MAX_SECONDS


def _cut_batches(columns: Columns, num_rows: int) -> Iterator[dict[str, list[Any]]]:
    """Yield `num_rows` rows of `columns` at a time, from the start again when they are used up."""
    total = count_rows(columns)
    for start in itertools.count(0, num_rows):
        rows = [(start + i) % total for i in range(num_rows)]
        yield {name: [values[row] for row in rows] for name, values in columns.items()}
