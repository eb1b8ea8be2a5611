"""reports/evidence.json as a document: its format, its seal, and the check of who reads it."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError, StaleEvidenceError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.evidence.changes import compare_params
from plumbline.process.files import digest_path, read_json_object
from plumbline.process.lineage import collect_lineage
from plumbline.sources.shown_params import hide_secrets_in_values

FORMAT = 5
PLACES = 6  # of tracked metrics: enough for any comparison, too few to show a machine's rounding
# The files that the evidence is about, by their names in its digests.
DIGESTED_FILES = {
    "manifest": layout.MANIFEST,
    "examples": layout.EXAMPLES,
    "validation": layout.VALIDATION,
    "golden": layout.GOLDEN,
    "predictions": layout.PREDICTIONS,
    "reference": layout.DRIFT_REFERENCE,
    "report": layout.REPORT,
    "model_card": layout.MODEL_CARD,
}
PAGES = ("report", "model_card")  # which show the evidence to people
REMEDY = "run `dvc repro evaluate`"
FAILURE_KEYS = (
    "format", "task", "model", "verdict", "summary", "gates", "lineage", "seal",
)  # fmt: skip
# Every key that a reader relies on, and `build_evidence` writes.
KEYS = (
    *FAILURE_KEYS, "metric", "other_metrics", "winner", "ranking", "loosened", "thresholds",
    "params", "choice", "trials", "rehearsal", "lag", "notes",
    "candidates", "baselines", "cost", "forms", "comparisons", "champion", "comparison", "looks",
    "flips", "changes", "slices", "uncertainty", "selective", "behaviour",
    "digests", "answers", "export", "bundles", "hardware", "data", "metrics", "bound",
)  # fmt: skip


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


def seal_with_pages(evidence: dict[str, Any]) -> dict[str, Any]:
    """Seal evidence with the digests of the pages that show it; they are on disk already."""
    pages = {name: digest_path(DIGESTED_FILES[name]) for name in PAGES}
    return seal_evidence(evidence | {"digests": evidence["digests"] | pages})


def seal_evidence(evidence: dict[str, Any]) -> dict[str, Any]:
    """Return `evidence` with a digest of everything in it."""
    return evidence | {"seal": _compute_seal(evidence)}


def read_evidence(params: Params) -> dict[str, Any]:
    """Read reports/evidence.json, if it is whole and is about the files here and about `params`.

    What follows from the rest is derived again by `verify`. Raises EvidenceError that says what is
    missing, changed or out of date: StaleEvidenceError where other files or params than the
    evaluation's are here.
    """
    evidence = _parse_evidence()
    if evidence["verdict"] == "error":
        return evidence
    _require_keys(evidence, KEYS)
    _check_digests(evidence)
    _check_params(evidence, params)
    return evidence


def extract_metrics(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Extract what git tracks and `dvc metrics diff` shows: the metric that decides, and no times.

    All figures are in the evidence.
    """
    metric, winner = evidence["metric"]["name"], evidence["candidates"][evidence["winner"]]

    def select(described: Mapping[str, Any], split: str) -> dict[str, Any]:
        return {split: {metric: described[split][metric]}}

    candidates, baselines = evidence["candidates"].items(), evidence["baselines"].items()
    numbers: dict[str, Any] = round_numbers(
        {
            **select(winner, "test"),
            **select(winner, "validation"),
            "test_interval": winner["test_interval"],
            "candidates": {name: select(one, "validation") for name, one in candidates},
            "baselines": {name: select(one, "test") for name, one in baselines},
        }
    )
    return {"winner": evidence["winner"], **numbers}


def locate_shipped(evidence: Mapping[str, Any], candidate: str) -> Path:
    """Return the folder of the bundle of `candidate` that ships: of several seeds the median.

    Edited evidence may name a candidate that it does not hold; its digest differs then.
    """
    seeds = evidence["candidates"].get(candidate, {}).get("seeds")
    return layout.locate_bundle(seeds["bundle"] if seeds else candidate)


def describe_params(params: Params) -> dict[str, Any]:
    """Return what evidence says of params: all that can steer an evaluation, and no secret.

    What drift asks and where the winner is registered decides nothing here.
    """
    values = params.model_dump(mode="json", exclude={"drift", "registry"})
    described: dict[str, Any] = hide_secrets_in_values(values)
    return described


def _parse_evidence() -> dict[str, Any]:
    """Read the document and check its format and seal."""
    try:
        evidence = read_json_object(layout.EVIDENCE)
    except (OSError, ValueError) as error:
        raise EvidenceError(f"{layout.EVIDENCE}: missing or damaged ({error}); {REMEDY}") from None
    if evidence.get("format") != FORMAT:
        raise EvidenceError(
            f"{layout.EVIDENCE}: evidence format {evidence.get('format')!r}, "
            f"this version reads {FORMAT}; {REMEDY}"
        )
    _require_keys(evidence, FAILURE_KEYS)
    if evidence["seal"] != _compute_seal(evidence):
        raise EvidenceError(f"{layout.EVIDENCE}: was edited after it was written; {REMEDY}")
    return evidence


def _require_keys(evidence: Mapping[str, Any], keys: Collection[str]) -> None:
    missing = sorted(set(keys) - set(evidence))
    if missing:
        raise EvidenceError(
            f"{layout.EVIDENCE}: has no {', '.join(missing)}: what is missing cannot be "
            f"compared; {REMEDY}"
        )


def _check_digests(evidence: Mapping[str, Any]) -> None:
    digests = evidence["digests"]
    winner = evidence["winner"]
    if not isinstance(digests, dict) or not isinstance(winner, str):
        raise EvidenceError(f"{layout.EVIDENCE}: damaged (winner or digests); {REMEDY}")
    bundle_path = locate_shipped(evidence, winner) / bundle.SEAL
    for name, path in (DIGESTED_FILES | {"bundle": bundle_path}).items():
        if name not in digests:
            raise EvidenceError(f"{layout.EVIDENCE}: has no digest of {path}; {REMEDY}")
        if not path.exists() or digest_path(path) != digests[name]:
            raise StaleEvidenceError(f"{path} is not what the evidence is about; {REMEDY}")


def _check_params(evidence: Mapping[str, Any], params: Params) -> None:
    """Compare the params of the evaluation with those of the file here, which will be kept."""
    recorded = evidence["params"]
    actual = describe_params(params)
    if not isinstance(recorded, dict) or evidence["model"] != params.registry.model:
        raise EvidenceError(
            f"{layout.EVIDENCE}: is of the model {evidence['model']!r}, {layout.PARAMS} names "
            f"{params.registry.model!r}; {REMEDY}"
        )
    changed = [change["key"] for change in compare_params(recorded, actual)]
    if changed:
        raise StaleEvidenceError(
            f"{layout.PARAMS} differs from the params of the evaluation in "
            f"{', '.join(changed[:5])}; {REMEDY}"
        )


def _compute_seal(evidence: Mapping[str, Any]) -> str:
    content = {key: value for key, value in evidence.items() if key != "seal"}
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def round_numbers(value: Any) -> Any:
    """Round every number in `value` to PLACES."""
    if isinstance(value, Mapping):
        return {key: round_numbers(inner) for key, inner in value.items()}
    return round(value, PLACES) if isinstance(value, float) else value
