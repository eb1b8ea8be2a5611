"""The evidence as one document: what was measured, on what, what every gate found, and the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from plumbline import bundle, layout
from plumbline.contract import Candidate, Case, Metric, Scores, Task
from plumbline.errors import PlumblineError
from plumbline.evidence import compare, intervals
from plumbline.evidence.gates import Gate
from plumbline.evidence.verdict import summary, verdict
from plumbline.lineage import lineage
from plumbline.params import Params

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
PLACES = 6  # of tracked metrics: enough for any comparison, too few to show a machine's rounding


def build(
    params: Params,
    task: Task,
    ranked: Sequence[Candidate],
    baselines: Mapping[str, Scores],
    *,
    judged: Sequence[Gate],
    behaviour: Sequence[Case],
    rows: "pd.DataFrame",
) -> dict[str, Any]:
    """What reports/evidence.json holds: `ranked` is best first, `rows` the manifest's test rows in scored order."""
    winner, limits = ranked[0], params.evaluation
    return {
        "format": FORMAT,
        "task": task.name,
        "metric": asdict(task.metric),
        "other_metrics": [name for name in winner.test.metrics if name != task.metric.name],  # as the task ranks them
        "verdict": verdict(judged),
        "summary": summary(winner.name, judged),
        "winner": winner.name,
        "ranking": [c.name for c in ranked],  # on validation, best first
        "gates": [asdict(gate) for gate in judged],
        "thresholds": limits.model_dump(mode="json"),
        "candidates": {c.name: _scored(c.validation, c.test, task.metric, limits.confidence) for c in ranked},
        "baselines": {name: _scored(None, s, task.metric, limits.confidence) for name, s in baselines.items()},
        "cost": {c.name: {**c.latency_ms, "num_bytes": c.num_bytes} for c in ranked},  # differs from run to run
        "comparisons": compare.comparisons(ranked, task.metric, limits.confidence),
        "slices": compare.slices(rows, winner.test.per_example[task.metric.name], task.metric, limits),
        "behaviour": [asdict(case) for case in behaviour],
        "digests": _digests(winner.name),
        "lineage": lineage(),
    }


def metrics(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The tracked part, equal in every run: scores and intervals, no timings."""
    keep = {name: _rounded(evidence[name]) for name in ("candidates", "baselines")}
    return {"winner": evidence["winner"], **keep["candidates"][evidence["winner"]], **keep}


def aligned(manifest: "pd.DataFrame", split: str, scores: Scores) -> "pd.DataFrame":
    """The manifest's rows of `split` in the order of `scores`, which name their ids or follow the manifest."""
    rows = manifest[manifest["split"] == split]
    if "id" in scores.per_example:
        missing = set(scores.per_example["id"]) ^ set(rows["id"])
        if not missing:
            return rows.set_index("id", drop=False).loc[scores.per_example["id"]]
    elif all(len(values) == len(rows) for values in scores.per_example.values()):
        return rows
    raise PlumblineError(f"the {split} examples are not those in {layout.MANIFEST}; run `dvc repro ingest`")


def _scored(validation: Scores | None, test: Scores, metric: Metric, confidence: float) -> dict[str, Any]:
    low, high = intervals.mean(test.per_example[metric.name], metric.kind, confidence)
    found = {"test": dict(test.metrics), "test_interval": {"low": low, "high": high}}
    return found | ({"validation": dict(validation.metrics)} if validation else {})


def _digests(winner: str) -> dict[str, str]:
    files = {
        "manifest": layout.MANIFEST,
        "validation": layout.VALIDATION,
        "params": layout.PARAMS,
        "golden": layout.GOLDEN,
        "predictions": layout.PREDICTIONS,
    }
    return {name: layout.digest(path) for name, path in files.items()} | {
        "bundle": bundle.digest(layout.bundle(winner)),
        "examples": layout.digest(layout.EXAMPLES),
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(inner) for key, inner in value.items()}
    return round(value, PLACES) if isinstance(value, float) else value
