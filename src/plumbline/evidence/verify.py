"""Evidence that somebody acts on or is shown: judged once more, from what evaluate recorded."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.evidence.document import extract_metrics, list_all_bundles
from plumbline.evidence.judge import describe_judgement, judge
from plumbline.evidence.records import read_measurements
from plumbline.evidence.scores import AGAIN
from plumbline.evidence.withholding import withhold_figures
from plumbline.process.files import read_json
from plumbline.registry import ledger

TOLERANCE = 1e-6  # of numbers that another machine computed


def verify_evidence(evidence: Mapping[str, Any], params: Params, task: Task[Params]) -> None:
    """Judge what was recorded as evaluate did; EvidenceError names what does not follow.

    Evidence without a verdict says nothing.
    """
    if evidence["verdict"] == "error":
        return
    task = task.configure(params)
    try:
        measured = read_measurements(evidence, task.metric)
        derived = json.loads(json.dumps(describe_judgement(judge(measured, params), params, task)))
        names = list(_find_differences(evidence, derived))
        metrics = read_json(layout.METRICS)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise EvidenceError(
            f"{layout.EVIDENCE}: its gates cannot be asked again "
            f"({type(error).__name__}: {error}); {AGAIN}"
        ) from None
    if names:
        raise EvidenceError(
            f"{layout.EVIDENCE}: asked again, from the same answers and data follows another "
            f"{', '.join(names)}: the evidence was edited, or made by another version; {AGAIN}"
        )
    if metrics != extract_metrics(withhold_figures(evidence)):
        raise EvidenceError(f"{layout.METRICS} is not what the evidence is about; {AGAIN}")


def require_bundles(evidence: Mapping[str, Any], params: Params) -> None:
    """Require that every bundle that was scored is here, as it was; else EvidenceError."""
    for name in list_all_bundles(params):
        folder = layout.locate_bundle(name)
        if bundle.digest(folder) != evidence["bundles"].get(name):
            raise EvidenceError(f"{folder} is not what the evidence is about; {AGAIN}")


def require_look(evidence: Mapping[str, Any]) -> None:
    """Require that the journal has this look at the test split, as this number; else EvidenceError.

    Raises JournalError where the journal cannot be read.
    """
    look = evidence["data"]["look"]
    uses = ledger.read_uses()
    for use in uses:
        if (use.question, use.split) == (look["question"], look["split"]):
            counted = asdict(ledger.count_look(uses, use))
            if all(counted[key] == look.get(key) for key in ("number", "first_plan", "change")):
                return
    raise EvidenceError(
        f"{layout.EVIDENCE}: the journal does not have its look at the test split as look "
        f"{look['number']}; {AGAIN}"
    )


def _find_differences(evidence: Mapping[str, Any], derived: Mapping[str, Any]) -> Iterator[str]:
    """Yield the gates, then the other keys, that are not what was derived."""
    recorded = {gate["name"]: gate for gate in evidence["gates"]}
    for gate in derived["gates"]:
        other = recorded.get(gate["name"], {"status": "nothing"})
        if not _is_close(other, gate):
            yield f"gate {gate['name']} ({other['status']} is recorded, {gate['status']} follows)"
    for key, value in derived.items():
        if not _is_close(evidence[key], value):
            yield key


def _is_close(one: Any, other: Any) -> bool:
    """Whether two plain values are equal, numbers but for rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_is_close(*pair) for pair in pairs)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)
