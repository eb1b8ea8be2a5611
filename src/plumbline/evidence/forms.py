"""The winner in each of its forms: what is served, and what it costs and loses against the form that was trained."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plumbline.contract import layout
from plumbline.contract.params import REFERENCE
from plumbline.contract.task import Candidate, Metric, Predictor, Scores, Task
from plumbline.evidence import compare, measure
from plumbline.statistics import intervals
from plumbline.statistics.parity import Likeness, likeness


@dataclass(frozen=True)
class Form:
    """What was measured of one form on the test split."""

    name: str
    test: Scores
    latency_ms: dict[str, float]  # as a candidate's
    num_bytes: int | None  # of what it answers from, where the predictor says so


def measured(winner: Candidate, predictor: Predictor, task: Task) -> list[Form]:
    """Every form of the candidate `winner`, the one that is served first; `predictor` answers in that one."""
    served, *others = predictor.forms
    found = [Form(served, winner.test, winner.latency_ms, _size(predictor))]
    for name in others:
        other = measure.guarded(winner.name, name)
        times = measure.latency_ms(other, task.inputs(layout.EXAMPLES, "test"))
        found.append(Form(name, other.scores(task, "test"), times, _size(other)))
    return found


def held(form: Form, forms: Sequence[Form], metric: Metric, confidence: float) -> Likeness | None:
    """`form` against the reference among `forms`; None where it is the reference, or the only one."""
    reference = next((other for other in forms if other.name == REFERENCE), form)
    if reference is form:
        return None
    ours, theirs = form.test.per_example, reference.test.per_example
    scores = compare.oriented(ours[metric.name], theirs[metric.name], metric)
    alike = ours["predicted"] == theirs["predicted"] if "predicted" in ours else None
    return likeness(*scores, alike, metric.kind, confidence)


def told(forms: Sequence[Form], metric: Metric, confidence: float) -> list[dict[str, Any]]:
    """What evidence.json holds of them; `p50` and `p95` are of one row, the others of a batch."""
    rows = []
    for form in forms:
        scores, found = form.test.per_example[metric.name], held(form, forms, metric, confidence)
        low, high = intervals.mean(scores, metric.kind, confidence)
        times = {name.removeprefix("one_"): value for name, value in form.latency_ms.items()}
        row = {
            "name": form.name,
            "served": form is forms[0],
            "score": float(scores.mean()),
            "low": low,
            "high": high,
        }
        rows.append(
            row | times | {"num_bytes": form.num_bytes, "agreement": found and found.agreement}
        )
    return rows


def _size(predictor: Predictor) -> int | None:
    size: int | None = getattr(predictor, "num_bytes", None)
    return size
