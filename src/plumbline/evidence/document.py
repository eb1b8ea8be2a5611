"""reports/evidence.json as a document: its format, its seal, and the check of who reads it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError
from plumbline.contract.lineage import collect_lineage
from plumbline.contract.params import Params
from plumbline.contract.task import Task

FORMAT = 2
PLACES = 6  # of tracked metrics: enough for any comparison, too few to show a machine's rounding
# The files that the evidence is about, by their names in its digests.
DIGESTED_FILES = {
    "manifest": layout.MANIFEST,
    "examples": layout.EXAMPLES,
    "validation": layout.VALIDATION,
    "golden": layout.GOLDEN,
    "predictions": layout.PREDICTIONS,
    "reference": layout.REFERENCE,
}
REMEDY = "run `dvc repro evaluate`"


def build_failure(params: Params, task: Task[Params], reason: str) -> dict[str, Any]:
    """Build the evidence of an evaluation that came to no verdict."""
    evidence = {
        "format": FORMAT,
        "task": task.name,
        "model": params.registry.model,
        "verdict": "error",
        "summary": reason,
        "gates": [],
        "lineage": collect_lineage(),
    }
    return seal_evidence(evidence)


def seal_evidence(evidence: dict[str, Any]) -> dict[str, Any]:
    """Return `evidence` with a digest of everything in it."""
    return evidence | {"seal": _compute_seal(evidence)}


def read_evidence(params: Params) -> dict[str, Any]:
    """Read reports/evidence.json, if it is whole and is about the files here and about `params`.

    Raises EvidenceError that says what is missing, changed or out of date.
    """
    try:
        evidence: dict[str, Any] = layout.read_json(layout.EVIDENCE)
        version = evidence["format"]
        seal = evidence["seal"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvidenceError(f"{layout.EVIDENCE}: missing or damaged ({error}); {REMEDY}") from None
    if version != FORMAT:
        raise EvidenceError(
            f"{layout.EVIDENCE}: evidence format {version!r}, this version reads {FORMAT}; {REMEDY}"
        )
    if seal != _compute_seal(evidence):
        raise EvidenceError(f"{layout.EVIDENCE}: was edited after it was written; {REMEDY}")
    digests = evidence.get("digests", {})
    winner = layout.locate_bundle(evidence.get("winner", ""))
    for name, path in (DIGESTED_FILES | {"bundle": winner / bundle.SEAL}).items():
        if name in digests and (not path.exists() or layout.digest(path) != digests[name]):
            raise EvidenceError(f"{path} is not what the evidence is about; {REMEDY}")
    thresholds = params.evaluation.model_dump(mode="json")
    if evidence.get("thresholds", thresholds) != thresholds:
        raise EvidenceError(
            f"{layout.PARAMS} asks for thresholds other than those of the evidence; {REMEDY}"
        )
    return evidence


def extract_metrics(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Extract the part that is tracked and equal in every run: scores and intervals, no times."""
    candidates = _round_numbers(evidence["candidates"])
    baselines = _round_numbers(evidence["baselines"])
    winner = evidence["winner"]
    return {
        "winner": winner,
        **candidates[winner],
        "candidates": candidates,
        "baselines": baselines,
    }


def _compute_seal(evidence: Mapping[str, Any]) -> str:
    content = {key: value for key, value in evidence.items() if key != "seal"}
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _round_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _round_numbers(inner) for key, inner in value.items()}
    return round(value, PLACES) if isinstance(value, float) else value
