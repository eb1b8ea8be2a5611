"""The judgement in evidence, derived again from what evaluate recorded, before it is kept.

`judge` is a pure function of measurements, and `recorded_measurements` reads them again.
docs/threat-model.md lists the gates that cannot be derived again.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError
from plumbline.contract.manifest import Manifest
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.trainings import list_bundles
from plumbline.evidence.champion import find_origin
from plumbline.evidence.content import describe_judgement
from plumbline.evidence.judge import judge
from plumbline.evidence.recorded_measurements import Record, read_measurements
from plumbline.evidence.split_use import describe_use
from plumbline.registry import ledger, promotion
from plumbline.registry.journal import Entry

TOLERANCE = 1e-6  # of numbers that another machine computed
REMEDY = "run `dvc repro --force --single-item evaluate`"
# Gates that ask about a champion whose making the registry here does not know.
ORIGIN_GATES = ("test_split", "champion")
# Its sentence counts splits that share rows, and there may be more of them by now.
COUNTING_GATES = ("power",)


def verify_judgement(
    evidence: Mapping[str, Any],
    params: Params,
    task: Task[Params],
    read_entries: Callable[[str], Sequence[Entry]] = promotion.read_whole_journal,
) -> None:
    """Derive gates, verdict, scores and comparisons again; EvidenceError names what differs.

    `read_entries` reads the whole journal, given the name of the model.
    """
    try:
        _verify_bundles(evidence, params)
        entries = read_entries(params.registry.model)
        record = _read_record(evidence, params, task, entries)
        derived = derive_judgement(record)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise EvidenceError(
            f"{layout.EVIDENCE}: its gates cannot be asked again "
            f"({type(error).__name__}: {error}); {REMEDY}"
        ) from None
    skipped = ORIGIN_GATES if evidence["champion"] and record.origin is None else ()
    names = list(_find_differences(evidence, derived, skipped))
    if names:
        raise EvidenceError(
            f"{layout.EVIDENCE}: asked again, from the same answers and data follows another "
            f"{', '.join(names)}: the evidence was edited, or made by another version; {REMEDY}"
        )


def derive_judgement(record: Record) -> dict[str, Any]:
    """Judge what was recorded, and describe the judgement as evidence.json does."""
    measurements = read_measurements(record)
    judgement = judge(measurements, record.params)
    described = describe_judgement(measurements, judgement, record.task)
    champion = record.evidence["champion"]
    if champion and measurements.disagreement:
        described["champion"] = dict(champion) | measurements.disagreement.describe()
    plain: dict[str, Any] = json.loads(json.dumps(described))
    return plain


def _verify_bundles(evidence: Mapping[str, Any], params: Params) -> None:
    """Require that every bundle that was scored is here, and none besides."""
    controls = [layout.name_control(name) for name in params.control.candidates]
    recorded = evidence["bundles"]
    is_complete = set(evidence["candidates"]) == set(params.candidates)
    if not is_complete or set(recorded) != {*list_bundles(params), *controls}:
        raise EvidenceError(
            f"{layout.EVIDENCE}: does not name each candidate and control of {layout.PARAMS}, and "
            f"no other; {REMEDY}"
        )
    for name, digest in recorded.items():
        if bundle.digest(layout.locate_bundle(name)) != digest:
            raise EvidenceError(
                f"{layout.locate_bundle(name)} is not what the evidence is about; {REMEDY}"
            )


def _read_record(
    evidence: Mapping[str, Any],
    params: Params,
    task: Task[Params],
    entries: Sequence[Entry],
) -> Record:
    """Read the files of the evaluation, its look in the ledger, and where the champion is from."""
    import pandas as pd

    manifest = Manifest(layout.MANIFEST).read_held_out()
    candidates = {name: evidence["bundles"][name] for name in list_bundles(params)}
    champion = evidence["champion"]
    digest = champion["bundle"] if champion else None
    use = describe_use(params, task, manifest, digest, candidates)
    return Record(
        evidence=evidence,
        predictions=pd.read_parquet(layout.PREDICTIONS),
        manifest=manifest,
        params=params,
        task=task,
        look=ledger.count_look(ledger.read_uses(), use),
        origin=find_origin(params.registry.model, champion, task, entries, params.evaluation.slices)
        if champion
        else None,
    )


def _find_differences(
    evidence: Mapping[str, Any], derived: Mapping[str, Any], skipped: tuple[str, ...]
) -> Iterator[str]:
    """Yield the gates, then the other keys, that are not what was derived."""
    recorded = {gate["name"]: gate for gate in evidence["gates"]}
    for gate in derived["gates"]:
        name = gate["name"]
        other = dict(recorded[name])
        if name in COUNTING_GATES:
            other["reason"] = gate["reason"]
        if name not in skipped and not _is_close(other, gate):
            yield f"gate {name} ({other['status']} is recorded, {gate['status']} follows)"
    if skipped:
        return  # what is said of a champion that nobody here knows follows from nothing
    for key, value in derived.items():
        if key != "gates" and not _is_close(evidence[key], value):
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
