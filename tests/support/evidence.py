"""Evidence as evaluate would leave it, with the verdict that a test asks for."""

import shutil
from typing import Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.records import Case, Scores
from plumbline.contract.task import Task
from plumbline.evidence import document, gates, withholding
from plumbline.evidence.gather import digest_read_files
from plumbline.evidence.judge import describe_judgement, judge
from plumbline.evidence.records import (
    ChampionFacts,
    DataFacts,
    Measurements,
    RuntimeFacts,
    store_measurements,
)
from plumbline.evidence.scores import CHAMPION, Key, ScoreTable
from plumbline.process.files import digest_path, write_json
from plumbline.registry import ledger
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.manifests import compare_manifests

FAILED = {"promote": [], "keep": ["champion"], "refuse": ["floor"]}
WINNER = "closed"
# Standard deviation of the errors of each candidate of the line, baseline and control.
ERRORS: dict[Key, float] = {
    ("candidate", WINNER, "validation"): 0.1,
    ("candidate", WINNER, "test"): 0.1,
    ("candidate", "gradient", "validation"): 0.12,
    ("candidate", "gradient", "test"): 0.12,
    ("candidate", "nothing", "validation"): 1.2,
    ("candidate", "nothing", "test"): 1.2,
    ("baseline", "mean", "test"): 1.2,
    ("control", layout.name_control(WINNER), "test"): 1.2,
}
LATENCY = {
    "one_p50": 1.0,
    "one_p95": 2.0,
    "batch_p50": 3.0,
    "batch_p95": 4.0,
    "rows_per_s": 9.0,
    "slowdown": 1.0,
}
REHEARSAL = {
    "num_rows": 200, "num_singles": 200, "seed": 1, "longest_ms": 1.0, "rss_mb": 1.0,
    "problems": [],
}  # fmt: skip
PLAN = "20 uses at 0.95"
CHECK = {"name": "range", "severity": "blocking", "passed": True}


def leave_line(params: Params, task: Task, slope: float = 2.0, champion: dict | None = None) -> str:
    """Leave what evaluate leaves of a line through 1; return the digest of its bundle."""
    golden = {"inputs": {"x": [0.0, 1.0]}, "params": {}, "outputs": {"y": [1.0, 1.0 + slope]}}
    return leave_winner(params, task, {"slope": slope, "intercept": 1.0}, golden, champion)


def leave_winner(
    params: Params,
    task: Task,
    weights: dict[str, Any],
    golden: dict[str, Any],
    champion: dict | None = None,
    name: str = "weights.json",
) -> str:
    """Leave a sealed winner, its golden rows and the evidence for it; return its digest."""
    folder = layout.locate_bundle(WINNER)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_json(folder / name, weights)
    digest = bundle.seal(folder, task, WINNER)
    write_json(layout.GOLDEN, golden)
    write_evidence(params, task, champion=champion)
    return digest


def write_evidence(
    params: Params, task: Task, verdict: str = "promote", champion: dict | None = None
) -> None:
    """Write reports/evidence.json on models/closed, a line, and what it is about.

    All that follows from its answers is derived from them; a refused model fails a case of
    behaviour.
    """
    if verdict == "keep" and champion is None:
        champion = {"version": "7", "bundle": "b"}  # that nobody knows here
    _write_files(params, task)
    facts, recorded = store_measurements(_measure(params, task, verdict, champion))
    evidence = _describe(facts, params, task)
    evidence |= describe_judgement(judge(recorded, params), params, task)
    assert evidence["verdict"] == verdict, evidence["summary"]
    shown = withholding.withhold_figures(evidence)
    write_json(layout.METRICS, document.extract_metrics(shown))
    write_json(layout.EVIDENCE, document.seal_evidence(evidence))


def describe_gates(verdict: str) -> list[dict]:
    """Every gate, as it has to be for this verdict."""
    described = []
    for gate in gates.GATES:
        status = "fail" if gate.name in FAILED[verdict] else "pass"
        facts = {"name": gate.name, "question": gate.question, "burden": gate.burden}
        described.append(facts | {"status": status, "reason": "0.5 is below 0.8"})
    return described


def _describe(facts: dict[str, Any], params: Params, task: Task) -> dict[str, Any]:
    """Describe what was measured; what follows from it is not there yet."""
    seal = layout.locate_bundle(WINNER) / bundle.SEAL
    paths = document.DIGESTED_FILES | {"bundle": seal}
    bundles = document.list_all_bundles(params)
    return facts | {
        "format": document.FORMAT,
        "task": task.name,
        "model": params.registry.model,
        "other_metrics": [],
        "params": document.describe_params(params),
        "flips": None,
        "notes": {},
        "lineage": {},
        "hardware": {"trainings": {}},
        "bundles": {name: bundle.digest(layout.locate_bundle(name)) for name in bundles},
        "digests": digest_read_files() | {name: digest_path(path) for name, path in paths.items()},
    }


def _measure(params: Params, task: Task, verdict: str, champion: dict | None) -> Measurements:
    """Draw squared errors of all; a champion that stays has those of the winner."""
    metric = task.metric.name
    manifest = Manifest(layout.MANIFEST).read_held_out()
    rng = np.random.default_rng(0)
    scores: dict[Key, Scores] = {}
    for (kind, name, split), spread in ERRORS.items():
        ids = manifest.loc[manifest["split"] == split, "id"].to_numpy()
        errors = rng.normal(0, spread, len(ids)) ** 2
        scores[kind, name, split] = Scores({metric: errors, "id": ids}, {metric: errors.mean()})
    known = None
    if champion is not None:
        rows = dict(scores["candidate", WINNER, "test"].per_example)
        if verdict != "keep":
            rows[metric] = rows[metric] + 0.1
        metrics = {metric: float(rows[metric].mean())}
        scores["champion", CHAMPION, "test"] = Scores(rows, metrics)
        same = compare_manifests(Manifest(layout.MANIFEST), Manifest(layout.MANIFEST))
        changes = {"params": [], "data": same, "code": {"from": "", "to": ""}}
        unknown = {"model": params.registry.model, "lag": 0.0, "changes": changes}
        known = ChampionFacts(**unknown | {"metrics": metrics} | champion)
    digests = digest_read_files()
    data = DataFacts(
        digests=digests,
        validation={"accepted": True, "suite": "", "checks": [CHECK], **digests},
        suite="",
        leaks=tuple(task.expectations.find_leaks(params, layout.EXAMPLES)),
        look=_record_look(params),
    )
    runtime = RuntimeFacts(
        cost=dict.fromkeys(params.candidates, LATENCY | {"num_bytes": 1}),
        forms=({"name": "exact", "num_bytes": None, **_rename_latency()},),
        rehearsal=REHEARSAL,
        answers=(),
        export=(),
        behaviour=(Case("rising", "direction", int(verdict != "refuse"), 1, ()),),
    )
    bound = task.scoring.compute_bound(params, layout.EXAMPLES, "test")
    return Measurements(data, ScoreTable(task.metric, scores, bound, manifest), known, runtime)


def _record_look(params: Params) -> ledger.Look:
    """Record a look at a split of its own, so that it is the first one."""
    asked = bundle.digest(layout.locate_bundle(WINNER))
    return ledger.record_look(params.registry.model, ledger.SplitUse(asked, asked, PLAN))


def _rename_latency() -> dict[str, float]:
    return {name.removeprefix("one_"): value for name, value in LATENCY.items()}


def _write_files(params: Params, task: Task) -> None:
    for path in (layout.REPORT, layout.MODEL_CARD, layout.PARAMS, layout.DRIFT_REFERENCE):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text("{}", encoding="utf-8")
    if not layout.MANIFEST.exists():
        layout.EXAMPLES.mkdir(parents=True, exist_ok=True)
        task.data.ingest(params, layout.EXAMPLES, layout.MANIFEST)
    digests = {
        "manifest": digest_path(layout.MANIFEST),
        "examples": digest_path(layout.EXAMPLES),
    }
    report = {"accepted": True, "suite": "", "checks": [CHECK], **digests}
    write_json(layout.VALIDATION, report)
    for name in ("gradient", "nothing", layout.name_control(WINNER)):
        folder = layout.locate_bundle(name)
        if not folder.exists():
            folder.mkdir(parents=True)
            (folder / "weights.json").write_text("{}", encoding="utf-8")
            bundle.seal(folder, task, name)
