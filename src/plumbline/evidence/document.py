"""reports/evidence.json as a document: its format, its seal, and the check of who reads it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError
from plumbline.contract.params import Params
from plumbline.contract.records import Candidate
from plumbline.contract.task import Task
from plumbline.contract.trainings import list_bundles, locate_hardware
from plumbline.evidence.changes import compare_params
from plumbline.evidence.judge import Judgement, describe_judgement
from plumbline.process.files import digest_path, read_json, read_json_object, read_output
from plumbline.process.lineage import collect_lineage
from plumbline.sources.shown_params import hide_secrets_in_values

if TYPE_CHECKING:
    from plumbline.evidence.gather import Subjects
    from plumbline.evidence.measure import Exhibits

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
READ_BY_EVALUATE = ("manifest", "examples", "validation")
WRITTEN_BY_EVALUATE = ("golden", "predictions", "reference")  # before the evidence is built
PAGES = ("report", "model_card")  # which show the evidence to people
REMEDY = "run `dvc repro evaluate`"


def build_evidence(
    facts: Mapping[str, Any],
    judgement: Judgement,
    subjects: "Subjects",
    exhibits: "Exhibits",
    task: Task[Params],
) -> dict[str, Any]:
    """Build evidence.json but for its seal; `WRITTEN_BY_EVALUATE` are on disk already."""
    winner = exhibits.candidates[0]
    return {
        **facts,
        "format": FORMAT,
        "task": task.name,
        "model": subjects.params.registry.model,
        **describe_judgement(judgement, subjects.params, task),
        "other_metrics": exhibits.other_metrics,
        "params": describe_params(subjects.params),
        "flips": exhibits.flips,
        "notes": _collect_notes(exhibits.candidates),
        "bundles": subjects.bundles,
        "digests": _collect_digests(subjects, winner),
        "lineage": subjects.lineage,
        "hardware": _describe_hardware(exhibits.candidates, exhibits.machine),
    }


def build_failure(params: Params, task: Task[Params], reason: str) -> dict[str, Any]:
    """Build the evidence of an evaluation that came to no verdict."""
    return seal_evidence(
        {
            "format": FORMAT,
            "task": task.name,
            "model": params.registry.model,
            "verdict": "error",
            "summary": reason,
            "gates": [],
            "lineage": collect_lineage(),
        }
    )


def seal_evidence(evidence: dict[str, Any]) -> dict[str, Any]:
    """Return `evidence` with a digest of everything in it."""
    return evidence | {"seal": compute_seal(evidence)}


def read_evidence(params: Params) -> dict[str, Any]:
    """Read reports/evidence.json, if it is whole and is about the files here and about `params`.

    What follows from the rest is derived again by `verify`. Raises EvidenceError that says what is
    missing, changed or out of date.
    """
    evidence = read_sealed_evidence()
    if evidence["verdict"] != "error":
        _check_digests(evidence)
        _check_params(evidence, params)
    return evidence


def read_sealed_evidence() -> dict[str, Any]:
    """Read the document; EvidenceError where it is damaged, edited or of another format."""
    try:
        evidence = read_json_object(layout.EVIDENCE)
        seal = compute_seal(evidence)
    except (OSError, ValueError) as error:
        raise EvidenceError(f"{layout.EVIDENCE}: missing or damaged ({error}); {REMEDY}") from None
    if evidence.get("format") != FORMAT:
        raise EvidenceError(
            f"{layout.EVIDENCE}: evidence format {evidence.get('format')!r}, "
            f"this version reads {FORMAT}; {REMEDY}"
        )
    if evidence.get("seal") != seal:
        raise EvidenceError(f"{layout.EVIDENCE}: was edited after it was written; {REMEDY}")
    return evidence


def extract_metrics(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Extract what git tracks and `dvc metrics diff` shows: the metric that decides, and no times.

    All figures are in the evidence.
    """
    metric, winner = evidence["metric"]["name"], evidence["candidates"][evidence["winner"]]

    def select(described: Mapping[str, Any], split: str) -> dict[str, Any]:
        return {split: {metric: described[split][metric]}}

    candidates, baselines = evidence["candidates"].items(), evidence["baselines"].items()
    numbers: dict[str, Any] = _round_numbers(
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


def list_all_bundles(params: Params) -> list[str]:
    """List the names of all bundles that are scored: of candidates, then of controls."""
    return [*list_bundles(params), *map(layout.name_control, params.control.candidates)]


def describe_params(params: Params) -> dict[str, Any]:
    """Return what evidence says of params: all that can steer an evaluation, and no secret.

    What is asked of live rows, and where the winner is registered, decides nothing here.
    """
    values = params.model_dump(mode="json", exclude={"drift", "outcomes", "registry"})
    described: dict[str, Any] = hide_secrets_in_values(values)
    return described


def _collect_notes(candidates: Sequence[Candidate]) -> dict[str, list[str]]:
    """Collect what training left in the bundles to be read by people, such as texts that are cut.

    A task writes it under `notes` in the bundle's config.json; most have nothing to say.
    """
    notes = {}
    for candidate in candidates:
        path = layout.locate_bundle(candidate.bundle) / "config.json"
        sentences = read_json(path).get("notes") if path.exists() else None
        if sentences:
            notes[candidate.name] = list(map(str, sentences))
    return notes


def _describe_hardware(
    candidates: Sequence[Candidate], machine: Mapping[str, Any]
) -> dict[str, Any]:
    """Describe the machine that measured, and with what each candidate was trained.

    A bundle that no stage trained, as in the selftest, does not say.
    """
    paths = {candidate.name: locate_hardware(candidate.bundle) for candidate in candidates}
    trainings = {name: read_output(path, "train") for name, path in paths.items() if path.exists()}
    return {"evaluation": machine, "trainings": trainings}


def _collect_digests(subjects: "Subjects", winner: Candidate) -> dict[str, str]:
    written = {name: digest_path(DIGESTED_FILES[name]) for name in WRITTEN_BY_EVALUATE}
    return {**subjects.data.digests, **written, "bundle": subjects.bundles[winner.bundle]}


def _check_digests(evidence: Mapping[str, Any]) -> None:
    seal = locate_shipped(evidence, evidence["winner"]) / bundle.SEAL
    for name, path in (DIGESTED_FILES | {"bundle": seal}).items():
        if not path.exists() or digest_path(path) != evidence["digests"].get(name):
            raise EvidenceError(f"{path} is not what the evidence is about; {REMEDY}")


def _check_params(evidence: Mapping[str, Any], params: Params) -> None:
    """Compare the params of the evaluation with those of the file here, which will be kept."""
    if evidence["model"] != params.registry.model:
        raise EvidenceError(
            f"{layout.EVIDENCE}: is of the model {evidence['model']!r}, {layout.PARAMS} names "
            f"{params.registry.model!r}; {REMEDY}"
        )
    changes = compare_params(evidence["params"], describe_params(params))
    changed = [change["key"] for change in changes]
    if changed:
        raise EvidenceError(
            f"{layout.PARAMS} differs from the params of the evaluation in "
            f"{', '.join(changed[:5])}; {REMEDY}"
        )


def compute_seal(evidence: Mapping[str, Any]) -> str:
    """Compute the digest of everything in a document but its seal."""
    content = {key: value for key, value in evidence.items() if key != "seal"}
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _round_numbers(value: Any) -> Any:
    """Round every number in `value` to PLACES."""
    if isinstance(value, Mapping):
        return {key: _round_numbers(inner) for key, inner in value.items()}
    return round(value, PLACES) if isinstance(value, float) else value
