"""The evidence as one document: what was measured, on what, what every gate found, and the verdict."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError, PlumblineError
from plumbline.contract.lineage import lineage
from plumbline.contract.params import Params
from plumbline.contract.task import Candidate, Metric, Scores, Task
from plumbline.evidence import compare
from plumbline.evidence.forms import Form, told
from plumbline.evidence.gates import Facts, Gate
from plumbline.evidence.verdict import summary, verdict
from plumbline.statistics import intervals

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2
PLACES = 6  # of tracked metrics: enough for any comparison, too few to show a machine's rounding
RESTS_ON = {
    "manifest": layout.MANIFEST,
    "examples": layout.EXAMPLES,
    "validation": layout.VALIDATION,
    "golden": layout.GOLDEN,
    "predictions": layout.PREDICTIONS,
    "reference": layout.REFERENCE,
}


@dataclass(frozen=True)
class Since:
    """The champion, and what is different since."""

    champion: Mapping[str, Any]  # model, version, bundle, metrics
    flips: Mapping[str, Any]
    changes: (
        Mapping[str, Any] | None
    )  # in params, data and code; None where the registry does not have the old ones


def build(
    params: Params,
    task: Task,
    ranked: Sequence[Candidate],
    baselines: Mapping[str, Scores],
    *,
    forms: Sequence[Form],
    facts: Facts,
    judged: Sequence[Gate],
    since: Since | None,
) -> dict[str, Any]:
    """What reports/evidence.json holds: `ranked` is best first."""
    winner, limits = ranked[0], params.evaluation
    return sealed(
        {
            "format": FORMAT,
            "task": task.name,
            "model": params.registry.model,
            "metric": asdict(task.metric),
            "other_metrics": [
                name for name in winner.test.metrics if name != task.metric.name
            ],  # as the task ranks them
            "verdict": verdict(judged),
            "summary": summary(winner.name, judged),
            "winner": winner.name,
            "ranking": [c.name for c in ranked],  # on validation, best first
            "gates": [asdict(gate) for gate in judged],
            "thresholds": limits.model_dump(mode="json"),
            "candidates": {
                c.name: _scored(c.validation, c.test, task.metric, limits.confidence)
                for c in ranked
            },
            "baselines": {
                name: _scored(None, scores, task.metric, limits.confidence)
                for name, scores in baselines.items()
            },
            "cost": {
                c.name: {**c.latency_ms, "num_bytes": c.num_bytes} for c in ranked
            },  # differs from run to run
            "forms": told(
                forms, task.metric, limits.confidence
            ),  # of the winner; times differ from run to run
            "comparisons": compare.comparisons(ranked, task.metric, limits.confidence),
            "champion": since and since.champion,
            "comparison": _comparison(facts),
            "looks": {"number": facts.look, "planned": limits.planned_looks, "level": facts.level},
            "flips": since and since.flips,
            "changes": since and since.changes,
            "slices": [asdict(found) for found in facts.slices],
            "behaviour": [asdict(case) for case in facts.behaviour],
            "digests": _digests(winner.name),
            "lineage": lineage(),
        }
    )


def failed(params: Params, task: Task, reason: str) -> dict[str, Any]:
    """The evidence of an evaluation that came to no verdict."""
    found = {
        "format": FORMAT,
        "task": task.name,
        "model": params.registry.model,
        "verdict": "error",
    }
    return sealed(found | {"summary": reason, "gates": [], "lineage": lineage()})


def sealed(evidence: dict[str, Any]) -> dict[str, Any]:
    """`evidence` with a digest of all that it says."""
    return evidence | {"seal": _seal(evidence)}


def read(params: Params) -> dict[str, Any]:
    """reports/evidence.json, if it is whole and still is about what lies here and what `params` ask for.

    Raises EvidenceError that says what is missing, changed or out of date.
    """
    again = "run `dvc repro evaluate`"
    try:
        evidence: dict[str, Any] = layout.read_json(layout.EVIDENCE)
        version, seal = evidence["format"], evidence["seal"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvidenceError(f"{layout.EVIDENCE}: missing or damaged ({error}); {again}") from None
    if version != FORMAT:
        raise EvidenceError(
            f"{layout.EVIDENCE}: evidence format {version!r}, this version reads {FORMAT}; {again}"
        )
    if seal != _seal(evidence):
        raise EvidenceError(f"{layout.EVIDENCE}: was edited after it was written; {again}")
    digests = evidence.get("digests", {})
    files = RESTS_ON | {"bundle": layout.bundle(evidence.get("winner", "")) / bundle.SEAL}
    for name, path in files.items():
        if name in digests and (not path.exists() or layout.digest(path) != digests[name]):
            raise EvidenceError(f"{path} is not what the evidence is about; {again}")
    if evidence.get("thresholds", limits := params.evaluation.model_dump(mode="json")) != limits:
        raise EvidenceError(
            f"{layout.PARAMS} asks for something else than the evidence was judged by; {again}"
        )
    return evidence


def metrics(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The tracked part, equal in every run: scores and intervals, no timings."""
    keep = {name: _rounded(evidence[name]) for name in ("candidates", "baselines")}
    return {"winner": evidence["winner"], **keep["candidates"][evidence["winner"]], **keep}


def aligned(manifest: "pd.DataFrame", split: str, scores: Scores) -> "pd.DataFrame":
    """The manifest's rows of `split` in the order of `scores`, which name their ids or follow the manifest."""
    rows = manifest[manifest["split"] == split]
    if "id" in scores.per_example:
        if sorted(scores.per_example["id"]) == sorted(rows["id"]) and rows["id"].is_unique:
            return rows.set_index("id", drop=False).loc[scores.per_example["id"]]
    elif all(len(values) == len(rows) for values in scores.per_example.values()):
        return rows
    raise PlumblineError(
        f"the {split} examples are not those in {layout.MANIFEST}; run `dvc repro ingest`"
    )


def _scored(
    validation: Scores | None, test: Scores, metric: Metric, confidence: float
) -> dict[str, Any]:
    low, high = intervals.mean(test.per_example[metric.name], metric.kind, confidence)
    found = {"test": dict(test.metrics), "test_interval": {"low": low, "high": high}}
    return found | ({"validation": dict(validation.metrics)} if validation else {})


def _digests(winner: str) -> dict[str, str]:
    return {name: layout.digest(path) for name, path in RESTS_ON.items()} | {
        "bundle": bundle.digest(layout.bundle(winner)),
        "params": layout.digest(layout.PARAMS),
    }


def _comparison(facts: Facts) -> dict[str, Any] | None:
    """The duel with the champion; None where there is no champion or no significance left."""
    ours, theirs = facts.winner, facts.champion
    if theirs is None or facts.level == 0:
        return None
    found = compare.duel(ours, theirs, facts.metric, facts.limits.champion, facts.level)
    told: dict[str, Any] = {
        "difference": found.difference,
        "low": found.interval.low,
        "high": found.interval.high,
    }
    told |= {"p_value": found.p_value, "level": facts.level, "confidence": 1 - facts.level}
    counts = intervals.discordant(ours, theirs) if facts.metric.kind == "binary" else (None, None)
    return told | dict(zip(("only_challenger", "only_champion"), counts, strict=True))


def _seal(evidence: Mapping[str, Any]) -> str:
    told = {key: value for key, value in evidence.items() if key != "seal"}
    return hashlib.sha256(json.dumps(told, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(inner) for key, inner in value.items()}
    return round(value, PLACES) if isinstance(value, float) else value
