"""The winner in each of its forms: what is served, what it costs and what it loses.

A form (`fp32`, `int8`) is one export of a trained model; the loss is against the form `fp32`. Times
are of rows of the test split, whatever else the machine does.
"""

import itertools
import secrets
import time
from collections.abc import Iterator, Mapping
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.records import Candidate, ExportDifference, Scores
from plumbline.contract.steps import announce
from plumbline.contract.task import Columns, Predictor, Task, count_rows, take_rows
from plumbline.contract.trainings import name_candidate
from plumbline.evidence.predictors import GuardedPredictor, open_bundle
from plumbline.evidence.scores import Key, name_answers
from plumbline.registry.package.clean_process import time_call

if TYPE_CHECKING:
    from plumbline.evidence.gather import Subjects

NUM_ROWS = 200  # of the test split, drawn when forms are compared with the weights
BATCH_ROWS = 32
MIN_CALLS, MAX_CALLS = 5, 200
MAX_SECONDS = 2.0
WARM_UP_SECONDS = 0.5  # of the MIN_CALLS calls at most that are not timed


def measure_forms(
    winner: Candidate, digest: str, predictor: Predictor, inputs: Columns, task: Task[Any]
) -> tuple[list[dict[str, Any]], dict[Key, Scores]]:
    """Measure every form of `winner`, the served one first; `predictor` answers in that one.

    `digest` is that of the winner's bundle. Returns what each costs, and the scores of all but the
    served one.
    """
    served, *others = predictor.forms
    forms = [_describe_form(served, predictor, winner.latency_ms)]
    scores: dict[Key, Scores] = {}
    for name in others:
        other = open_bundle(winner.bundle, task, digest, name)
        forms.append(_describe_form(name, other, measure_latency(other, inputs)))
        key = name_answers(winner.name, name)
        scores["form", key, "test"] = other.score_split(task, "test")
    return forms, scores


def compare_export(
    name: str, digest: str, predictor: GuardedPredictor, subjects: "Subjects", task: Task[Params]
) -> list[ExportDifference]:
    """Answer random test rows with every form of the bundle `name`, and with its weights.

    BundleError where its digest is not `digest`; PlumblineError, which names the bundle's own
    `predictor`, where the weights do not fit the model that params describe.
    """
    announce("compares the graph that answers with the trained weights")
    folder = layout.locate_bundle(name)
    rng = np.random.default_rng(secrets.randbits(32))
    picked = rng.permutation(count_rows(subjects.inputs))[:NUM_ROWS].tolist()
    columns = take_rows(subjects.inputs, picked)
    with predictor.guard():
        bundle.require_digest(folder, digest)
        return task.models.compare_export(subjects.params, name_candidate(name), folder, columns)


def _describe_form(
    name: str, predictor: Predictor, latency_ms: Mapping[str, float]
) -> dict[str, Any]:
    """Describe what a form costs; its size is None where the predictor does not tell."""
    times = {key.removeprefix("one_"): value for key, value in latency_ms.items()}
    return {"name": name, "num_bytes": getattr(predictor, "num_bytes", None), **times}


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
        yield take_rows(columns, [(start + i) % total for i in range(num_rows)])
