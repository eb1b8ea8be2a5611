"""The winner in each of its forms: what is served, what it costs and what it loses.

A form (`fp32`, `int8`) is one export of a trained model; the loss is against the form `fp32`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plumbline.contract.params import TRAINED_FORM
from plumbline.contract.records import Candidate, Scores
from plumbline.contract.task import Columns, Metric, Predictor, Task
from plumbline.evidence.compare import orient_scores
from plumbline.evidence.latency import measure_latency
from plumbline.evidence.predictors import open_candidate
from plumbline.statistics.intervals import Interval
from plumbline.statistics.parity import VariantParity, measure_parity
from plumbline.statistics.power import DISPROOF_CONFIDENCE


@dataclass(frozen=True)
class Variant:
    """What was measured of one form on the test split."""

    name: str
    test: Scores
    latency_ms: dict[str, float]  # as a candidate's
    num_bytes: int | None  # of what it answers from; None where the predictor does not tell


def measure_variants(
    winner: Candidate, digest: str, predictor: Predictor, inputs: Columns, task: Task[Any]
) -> list[Variant]:
    """Measure every form of `winner`, the served one first; `predictor` answers in that one.

    `digest` is that of the winner's bundle.
    """
    served, *others = predictor.forms
    variants = [Variant(served, winner.test, winner.latency_ms, _read_size(predictor))]
    for name in others:
        other = open_candidate(winner.bundle, task, digest, name)
        latency = measure_latency(other, inputs)
        scores = other.score_split(task, "test")
        variants.append(Variant(name, scores, latency, _read_size(other)))
    return variants


def compare_variants(variants: Sequence[Variant], metric: Metric) -> list[VariantParity | None]:
    """Compare each variant with the form `fp32`: None for that one, and for an only variant.

    Intervals are those of a gate that must not be disproved.
    """
    named = {variant.name: variant for variant in variants}
    reference = named.get(TRAINED_FORM)
    parities: list[VariantParity | None] = []
    for variant in variants:
        if reference is None or variant is reference:
            parities.append(None)
        else:
            parities.append(_compare_to_reference(variant, reference, metric))
    return parities


def build_variants_table(
    variants: Sequence[Variant],
    intervals: Sequence[Interval],
    parities: Sequence[VariantParity | None],
    metric: Metric,
) -> list[dict[str, Any]]:
    """Build `forms` of evidence.json; `p50` and `p95` are of one row, the others of a batch."""
    rows = []
    for variant, interval, parity in zip(variants, intervals, parities, strict=True):
        row: dict[str, Any] = {
            "name": variant.name,
            "served": variant is variants[0],
            "score": float(variant.test.per_example[metric.name].mean()),
            "low": interval.low,
            "high": interval.high,
            "num_bytes": variant.num_bytes,
            "agreement": parity.agreement if parity else None,
        }
        for name, value in variant.latency_ms.items():
            row[name.removeprefix("one_")] = value
        rows.append(row)
    return rows


def _compare_to_reference(variant: Variant, reference: Variant, metric: Metric) -> VariantParity:
    ours = variant.test.per_example
    theirs = reference.test.per_example
    scores = orient_scores(ours[metric.name], theirs[metric.name], metric)
    equal = ours["predicted"] == theirs["predicted"] if "predicted" in ours else None
    return measure_parity(*scores, equal, metric.kind, DISPROOF_CONFIDENCE)


def _read_size(predictor: Predictor) -> int | None:
    size: int | None = getattr(predictor, "num_bytes", None)
    return size
