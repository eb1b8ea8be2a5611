"""What is measured of every candidate on the same held-out examples: its scores and what it costs to run."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.task import Candidate, Columns, Metric, Predictor, Scores, Task

if TYPE_CHECKING:
    import pandas as pd

BATCH_ROWS = 32
WARM_UP = 5
MAX_CALLS = 200
MAX_SECONDS = 2.0


class Guarded:
    """A predictor whose errors name it and say what to do: a bundle's code and libraries may raise anything."""

    def __init__(self, name: str, remedy: str, load: Callable[[], Predictor]) -> None:
        self._name, self._remedy = name, remedy
        try:
            self._predictor = load()
        except PlumblineError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    @property
    def forms(self) -> Sequence[str]:
        """As the predictor has them."""
        return self._predictor.forms

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        """As the predictor answers; PlumblineError where it fails."""
        try:
            return self._predictor.predict(columns, **params)
        except Exception as error:
            raise self._failed(error) from error

    def scores(self, task: Task, split: str) -> Scores:
        """As `scores`, with PlumblineError for answers that are not what the task's signature promises."""
        try:
            return scores(task, split, self)
        except (LookupError, TypeError, ValueError) as error:
            raise self._failed(error) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def _failed(self, error: Exception) -> PlumblineError:
        return PlumblineError(
            f"{self._name} cannot be scored ({type(error).__name__}: {error}); {self._remedy}"
        )


def guarded(name: str, form: str | None = None) -> Guarded:
    """The predictor in models/<name>/, verified, in the form that is served or in `form`."""
    remedy = f"train it again (dvc repro -f train@{name}) or take it out of params.yaml"
    said = f"candidate {name} in {form}" if form else f"candidate {name}"
    return Guarded(said, remedy, lambda: bundle.load(layout.bundle(name), form))


def control(name: str) -> Guarded:
    """The predictor that the candidate `name` became on shuffled answers."""
    folder = layout.bundle(layout.control(name))
    return Guarded(
        f"control {name}",
        f"train it again (dvc repro -f control@{name})",
        lambda: bundle.load(folder),
    )


def candidate(name: str, task: Task) -> Candidate:
    """Everything measured of one candidate.

    Raises PlumblineError naming the candidate if it cannot be scored; a bad score is no error.
    """
    predictor = guarded(name)
    validation, test = (predictor.scores(task, split) for split in ("validation", "test"))
    latency = latency_ms(predictor, task.inputs(layout.EXAMPLES, "test"))
    return Candidate(
        name, validation, test, _history(name), latency, bundle.num_bytes(layout.bundle(name))
    )


def scores(task: Task, split: str, predictor: Predictor) -> Scores:
    """The task's scores on one split; ValueError where a metric is missing or not a number."""
    found = task.score(layout.EXAMPLES, split, predictor)
    values = found.per_example[task.metric.name]
    if not np.isfinite(values).all() or not np.isfinite(list(found.metrics.values())).all():
        raise ValueError(f"a score on the {split} split is not a finite number")
    if task.metric.kind == "binary" and not np.isin(values, (0, 1)).all():
        raise ValueError(
            f"{task.metric.name} is said to be 0 or 1, and is not on the {split} split"
        )
    if not np.isclose(values.mean(), found.metrics[task.metric.name]):
        raise ValueError(f"{task.metric.name} on the {split} split is not the mean of its examples")
    return found


def rank(candidates: Sequence[Candidate], metric: Metric) -> list[Candidate]:
    """Best first, by the validation split alone; of equals the smaller bundle."""
    sign = -1 if metric.higher_is_better else 1
    return sorted(
        candidates, key=lambda c: (sign * c.validation.metrics[metric.name], c.num_bytes, c.name)
    )


def latency_ms(predictor: Predictor, columns: Columns) -> dict[str, float]:
    """Milliseconds a call takes, p50 and p95, for one row and for a batch of 32; and rows a second in batches."""
    times = {"one": _timed(predictor, columns, 1), "batch": _timed(predictor, columns, BATCH_ROWS)}
    found = {
        f"{name}_p{q}": float(np.percentile(times[name], q)) for name in times for q in (50, 95)
    }
    return found | {"rows_per_s": 1000 * BATCH_ROWS / found["batch_p50"]}


def _timed(predictor: Predictor, columns: Columns, num_rows: int) -> list[float]:
    """Milliseconds of each of several calls on different held-out rows."""
    calls = _batches(columns, num_rows)
    for _ in range(WARM_UP):
        predictor.predict(next(calls))
    times: list[float] = []
    while len(times) < MAX_CALLS and (len(times) < WARM_UP or _spent(times) < 1000 * MAX_SECONDS):
        batch = next(calls)
        before = time.perf_counter()
        predictor.predict(batch)
        times.append(1000 * (time.perf_counter() - before))
    return times


def _spent(times: list[float]) -> float:
    """What so many typical calls take, since one or two may have been held up; no less than a tenth of them all."""
    return max(len(times) * median(times), sum(times) / 10)


def _batches(columns: Columns, num_rows: int) -> Iterator[dict[str, list[Any]]]:
    """Rows of `columns`, `num_rows` at a time, from the start again when they are used up."""
    total = len(next(iter(columns.values())))
    for start in itertools.count(0, num_rows):
        picked = [(start + i) % total for i in range(num_rows)]
        yield {name: [values[i] for i in picked] for name, values in columns.items()}


def _history(name: str) -> "pd.DataFrame | None":
    import pandas as pd

    path = layout.TRAINING / f"{name}.csv"
    history = pd.read_csv(path) if path.exists() else pd.DataFrame()
    return None if history.empty else history
