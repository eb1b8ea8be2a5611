"""The winner in each of its forms: what is served, what it costs and what it loses.

A form (`fp32`, `int8`) is one export of a trained model; the loss is against the form `fp32`.
"""

from collections.abc import Mapping
from typing import Any

from plumbline.contract.params import TRAINED_FORM
from plumbline.contract.records import Candidate, Scores
from plumbline.contract.task import Columns, Metric, Predictor, Task
from plumbline.evidence.compare import orient_scores
from plumbline.evidence.latency import measure_latency
from plumbline.evidence.predictors import open_candidate
from plumbline.statistics.parity import VariantParity, measure_parity
from plumbline.statistics.power import DISPROOF_CONFIDENCE


def measure_forms(
    winner: Candidate, digest: str, predictor: Predictor, inputs: Columns, task: Task[Any]
) -> tuple[list[dict[str, Any]], dict[str, Scores]]:
    """Measure every form of `winner`, the served one first; `predictor` answers in that one.

    `digest` is that of the winner's bundle. Returns what each costs, and scores of all but the
    served one by name.
    """
    served, *others = predictor.forms
    forms = [_describe_form(served, predictor, winner.latency_ms)]
    scores = {}
    for name in others:
        other = open_candidate(winner.bundle, task, digest, name)
        forms.append(_describe_form(name, other, measure_latency(other, inputs)))
        scores[name] = other.score_split(task, "test")
    return forms, scores


def compare_forms(forms: Mapping[str, Scores], metric: Metric) -> dict[str, VariantParity]:
    """Compare each form with `fp32`, where there is that one and others.

    Intervals are those of a gate that must not be disproved.
    """
    reference = forms.get(TRAINED_FORM)
    if reference is None:
        return {}
    return {
        name: _compare_to_reference(scores, reference, metric)
        for name, scores in forms.items()
        if name != TRAINED_FORM
    }


def _describe_form(
    name: str, predictor: Predictor, latency_ms: Mapping[str, float]
) -> dict[str, Any]:
    """Describe what a form costs; its size is None where the predictor does not tell."""
    times = {key.removeprefix("one_"): value for key, value in latency_ms.items()}
    return {"name": name, "num_bytes": getattr(predictor, "num_bytes", None), **times}


def _compare_to_reference(scores: Scores, reference: Scores, metric: Metric) -> VariantParity:
    ours, theirs = scores.per_example, reference.per_example
    pairs = orient_scores(ours[metric.name], theirs[metric.name], metric)
    equal = ours["predicted"] == theirs["predicted"] if "predicted" in ours else None
    return measure_parity(*pairs, equal, metric.kind, DISPROOF_CONFIDENCE)
