"""The evidence's candidates in rows, and the comparison with the champion in a line."""

from collections.abc import Mapping
from typing import Any

from plumbline.evidence.withholding import NOTE, is_withheld
from plumbline.reporting.html import format_name


def build_leaderboard(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Build one row for each candidate, best first, then one for each baseline."""
    metric = evidence["metric"]["name"]
    rows = []
    for kind, names in (("candidates", evidence["ranking"]), ("baselines", evidence["baselines"])):
        for name in names:
            scores = evidence[kind][name]
            is_candidate = kind == "candidates"
            row = {
                "name": name,
                "kind": kind,
                "chosen": is_candidate and name == evidence["winner"],
                "validation": scores["validation"][metric] if is_candidate else None,
                "metrics": scores["test"],
                "cost": evidence["cost"][name] if is_candidate else None,
            }
            rows.append(row | scores["test_interval"])
    return rows


def describe_comparison(evidence: Mapping[str, Any]) -> str:
    """Describe the comparison with the champion in a line; empty where there was none."""
    champion = evidence.get("champion")
    comparison = evidence.get("comparison")
    if champion and is_withheld(evidence):
        return f"champion version {champion['version']} stays; test figures are {NOTE}"
    if not champion or not comparison:
        return ""
    metric = evidence["metric"]["name"]
    winner = evidence["winner"]
    ours = evidence["candidates"][winner]["test"][metric]
    theirs = champion["metrics"][metric]
    (gate,) = [gate for gate in evidence["gates"] if gate["name"] == "champion"]
    return (
        f"champion version {champion['version']}: {format_name(metric)} {theirs:.4f}, "
        f"{winner} {ours:.4f}; gain {gate['reason']}"
    )


def describe_seeds(evidence: Mapping[str, Any]) -> list[str]:
    """Describe in a sentence or two each candidate that was trained with several seeds."""
    metric = format_name(evidence["metric"]["name"]) if "metric" in evidence else ""
    lines = []
    for name, scored in (evidence.get("candidates") or {}).items():
        seeds = scored.get("seeds")
        if seeds:
            lines.append(f"{name} was trained with {_describe_seeds(seeds, metric)}")
    return lines


def _describe_seeds(seeds: Mapping[str, Any], metric: str) -> str:
    ordered = sorted(seeds["validation"].items(), key=lambda item: int(item[0]))
    scores = ", ".join(f"{score:.4f} ({seed})" for seed, score in ordered)
    test = "not shown"
    if seeds["test_mean"] is not None:
        test = f"mean {seeds['test_mean']:.4f}, spread {seeds['test_spread']:.4f}"
    return (
        f"{len(ordered)} seeds: {metric} on validation {scores}, mean "
        f"{seeds['validation_mean']:.4f}, spread {seeds['validation_spread']:.4f}; on test {test}. "
        f"Seed {seeds['shipped']} ships, the median on validation."
    )
