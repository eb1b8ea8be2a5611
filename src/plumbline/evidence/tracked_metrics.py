"""The numbers of the evidence under the names by which MLflow finds and compares them.

Figures that are not shown of a model that was not promoted are not metrics: see `withholding`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from plumbline.evidence.withholding import withhold_figures

UNSUITABLE = re.compile(r"[^\w\-. /:]")  # in the name of a metric of MLflow
MAX_NAME = 250
MAX_PART = 80  # characters of a column or a value
PASSED = {"pass": 1.0, "fail": 0.0}  # a gate that does not apply is left out


def list_metrics(evidence: Mapping[str, Any]) -> dict[str, float]:
    """List the winner's metrics: test and validation with intervals, slices, costs and gates."""
    shown = withhold_figures(evidence)
    named = [
        *_list_scores(shown),
        *_list_slices(shown),
        *_list_costs(shown),
        *_list_comparison(shown),
        *_list_gates(shown),
    ]
    metrics = {}
    for name, value in named:
        if value is not None:
            metrics[UNSUITABLE.sub("_", name)[:MAX_NAME]] = float(value)
    return metrics


def list_candidate_metrics(evidence: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """List the scores and costs of each candidate that was compared, by its name."""
    shown = withhold_figures(evidence)
    listed = {}
    for name in shown["candidates"]:
        named = [*_list_scores(dict(shown) | {"winner": name})]
        named += _list_values("cost", (shown.get("cost") or {}).get(name))
        listed[name] = {key: float(value) for key, value in named if value is not None}
    return listed


def _list_scores(evidence: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    scores = evidence["candidates"][evidence["winner"]]
    yield from _list_values("validation", scores["validation"])
    yield from _list_values("test", scores["test"])
    yield from _list_seeds(scores.get("seeds") or {}, (evidence.get("metric") or {}).get("name"))
    interval = scores.get("test_interval") or {}
    metric = (evidence.get("metric") or {}).get("name", "score")
    for end in ("low", "high"):
        yield f"test/{metric}_{end}", interval.get(end)


def _list_seeds(seeds: Mapping[str, Any], metric: str | None) -> Iterator[tuple[str, float | None]]:
    """List the scores of a candidate that was trained with several seeds; else nothing."""
    for seed, score in seeds.get("validation", {}).items():
        yield f"seed/{seed}/validation/{metric}", score
    for split in ("validation", "test"):
        for kind in ("mean", "spread"):
            yield f"{split}/{metric}_seed_{kind}", seeds.get(f"{split}_{kind}")


def _list_slices(evidence: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    metric = (evidence.get("metric") or {}).get("name", "score")
    for group in evidence.get("slices") or []:
        name = f"slice/{_clean_part(group['column'])}/{_clean_part(group['value'])}"
        yield f"{name}/{metric}", group["score"]
        yield f"{name}/{metric}_low", group["low"]
        yield f"{name}/{metric}_high", group["high"]
        yield f"{name}/num_rows", group["num_rows"]


def _clean_part(text: Any) -> str:
    """Make a text one part of a name, which MLflow reads as a path."""
    part = UNSUITABLE.sub("_", str(text)).replace("/", "_")[:MAX_PART]
    return part.strip(".") or "_"


def _list_costs(evidence: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    yield from _list_values("cost", (evidence.get("cost") or {}).get(evidence["winner"]))
    yield "cost/rss_mb", (evidence.get("rehearsal") or {}).get("rss_mb")


def _list_comparison(evidence: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    comparison = evidence.get("comparison") or {}
    for key in ("difference", "low", "high", "p_value"):
        yield f"champion/{key}", comparison.get(key)


def _list_gates(evidence: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    for gate in evidence["gates"]:
        yield f"gate/{gate['name']}", PASSED.get(gate["status"])


def _list_values(
    prefix: str, values: Mapping[str, float | None] | None
) -> Iterator[tuple[str, float | None]]:
    for name, value in (values or {}).items():
        yield f"{prefix}/{name}", value
