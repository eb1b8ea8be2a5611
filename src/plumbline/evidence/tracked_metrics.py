"""The numbers of the evidence under the names by which MLflow finds and compares them.

Figures that are not shown of a model that was not promoted are not metrics: see `withholding`.
"""

from collections.abc import Mapping
from typing import Any

from plumbline.evidence.withholding import withhold_figures

MAX_PART = 80  # characters of a column or a value
PASSED = {"pass": 1.0, "fail": 0.0}  # a gate that does not apply is left out


def list_metrics(evidence: Mapping[str, Any]) -> dict[str, float]:
    """List the winner's metrics: test and validation with intervals, slices, costs and gates."""
    shown = withhold_figures(evidence)
    metric = shown["metric"]["name"]
    named = _list_scores(shown, shown["winner"])
    named["cost/rss_mb"] = shown["rehearsal"]["rss_mb"]
    for group in shown["slices"]:
        name = f"slice/{_clean_part(group['column'])}/{_clean_part(group['value'])}"
        named[f"{name}/{metric}"] = group["score"]
        named[f"{name}/{metric}_low"] = group["low"]
        named[f"{name}/{metric}_high"] = group["high"]
        named[f"{name}/num_rows"] = group["num_rows"]
    for end in ("difference", "low", "high"):
        named[f"groups/{end}"] = ((shown.get("groups") or {}).get("worst") or {}).get(end)
    comparison = shown["comparison"] or {}
    for key in ("difference", "low", "high", "p_value"):
        named[f"champion/{key}"] = comparison.get(key)
    for gate in shown["gates"]:
        named[f"gate/{gate['name']}"] = PASSED.get(gate["status"])
    return _keep_numbers(named)


def list_candidate_metrics(evidence: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """List the scores and costs of each candidate that was compared, by its name."""
    shown = withhold_figures(evidence)
    return {name: _keep_numbers(_list_scores(shown, name)) for name in shown["candidates"]}


def _list_scores(evidence: Mapping[str, Any], candidate: str) -> dict[str, float | None]:
    """List the scores of a candidate on both splits, those of its seeds, and its costs."""
    metric = evidence["metric"]["name"]
    scores = evidence["candidates"][candidate]
    named = {f"cost/{key}": value for key, value in evidence["cost"][candidate].items()}
    for split in ("validation", "test"):
        named |= {f"{split}/{key}": value for key, value in scores[split].items()}
    for end in ("low", "high"):
        named[f"test/{metric}_{end}"] = scores["test_interval"][end]
    seeds = scores.get("seeds")
    if seeds:
        for seed, score in seeds["validation"].items():
            named[f"seed/{seed}/validation/{metric}"] = score
        for part in ("validation_mean", "validation_spread", "test_mean", "test_spread"):
            split, _, kind = part.partition("_")
            named[f"{split}/{metric}_seed_{kind}"] = seeds[part]
    return named


def _clean_part(text: Any) -> str:
    """Make a text one part of a name, which MLflow reads as a path."""
    return str(text).replace("/", "_")[:MAX_PART].strip(".") or "_"


def _keep_numbers(named: Mapping[str, float | None]) -> dict[str, float]:
    return {name: float(value) for name, value in named.items() if value is not None}
