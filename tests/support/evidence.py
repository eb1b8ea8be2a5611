"""Evidence as evaluate would leave it, with the verdict that a test asks for."""

from typing import Any

import numpy as np
import pandas as pd

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.manifest import Manifest
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.evidence import document, gates, judgement_check, withholding
from plumbline.evidence.champion import ChampionOrigin
from plumbline.evidence.content import list_bundles
from plumbline.evidence.data_changes import read_keys
from plumbline.evidence.measurements import CHAMPION
from plumbline.evidence.recorded_measurements import Record
from plumbline.evidence.split_use import describe_use
from plumbline.process.files import digest_path, write_json
from plumbline.registry.ledger import Look
from plumbline.sources.shown_params import digest_shown_params

FAILED = {"promote": [], "keep": ["champion"], "refuse": ["floor"]}
WINNER = "closed"
# Standard deviation of the errors of each candidate of the line, baseline and control.
ERRORS = {WINNER: 0.1, "gradient": 0.12, "nothing": 1.2, "mean": 1.2, "control.closed": 1.2}
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


def write_evidence(
    params: Params, task: Task, verdict: str = "promote", champion: dict | None = None
) -> None:
    """Write reports/evidence.json on models/closed, a line, and what it is about.

    All that follows from its answers is derived from them; a refused model fails a case of
    behaviour.
    """
    if verdict == "keep" and champion is None:
        champion = {"version": "7", "bundle": "b"}  # that nobody knows here
    _write_files(params, task, verdict, champion is not None)
    evidence = _describe(params, task, champion)
    evidence["behaviour"][0]["num_passed"] = int(verdict != "refuse")
    manifest = pd.read_parquet(layout.MANIFEST)
    use = describe_use(params, task, manifest, None, {})
    look = Look(use.question, use.split, use.plan, 1, use.plan, sketch=use.sketch)
    predictions = pd.read_parquet(layout.PREDICTIONS)
    keys = read_keys(Manifest(layout.MANIFEST).read_batches())
    origin = champion and ChampionOrigin({}, 0.0, None, keys)
    evidence |= judgement_check.derive_judgement(
        Record(evidence, predictions, manifest, params, task, look, origin)
    )
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


def _describe(params: Params, task: Task, champion: dict | None) -> dict[str, Any]:
    """Describe what was measured; what follows from it is not there yet."""
    metric = task.metric.name
    seal = layout.locate_bundle(WINNER) / bundle.SEAL
    paths = document.DIGESTED_FILES | {"bundle": seal}
    digests_of_files = {name: digest_path(path) for name, path in paths.items()}
    scored = {"test": {metric: 0.0}, "validation": {metric: 0.0}}
    digests = {name: bundle.digest(layout.locate_bundle(name)) for name in params.candidates}
    controls = {
        name: bundle.digest(layout.locate_bundle(layout.name_control(name)))
        for name in params.control.candidates
    }
    predictions = pd.read_parquet(layout.PREDICTIONS)
    answers = predictions[predictions["candidate"] == CHAMPION]
    metrics = {"metrics": {metric: float(answers[metric].mean())}}
    return dict.fromkeys(document.KEYS) | {
        "format": document.FORMAT,
        "task": task.name,
        "model": params.registry.model,
        "params": document.describe_params(params),
        "candidates": dict.fromkeys(params.candidates, scored),
        "baselines": {"mean": scored},
        "cost": dict.fromkeys(params.candidates, LATENCY | {"num_bytes": 1}),
        "rehearsal": REHEARSAL,
        "forms": [{"name": "exact", "num_bytes": None, **_rename_latency()}],
        "champion": champion and metrics | champion,
        "looks": {"number": 1},
        "behaviour": [
            {
                **{"name": "rising", "kind": "direction", "num_passed": 1, "num_cases": 1},
                **{"failures": [], "is_sample": False},
            }
        ],
        "gates": [],
        "answers": [],
        "export": [],
        "lineage": {},
        "hardware": {"trainings": {}},
        "bundles": list_bundles(digests, controls),
        "digests": digests_of_files | {"params": digest_shown_params(layout.PARAMS)},
    }


def _rename_latency() -> dict[str, float]:
    return {name.removeprefix("one_"): value for name, value in LATENCY.items()}


def _write_files(params: Params, task: Task, verdict: str, has_champion: bool) -> None:
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
    checks = [{"name": "range", "severity": "blocking", "passed": True}]
    report = {"accepted": True, "suite": "", "checks": checks, **digests}
    write_json(layout.VALIDATION, report)
    for name in ("gradient", "nothing", layout.name_control(WINNER)):
        folder = layout.locate_bundle(name)
        if not folder.exists():
            folder.mkdir(parents=True)
            (folder / "weights.json").write_text("{}", encoding="utf-8")
            bundle.seal(folder, task, name)
    _write_predictions(task.metric.name, verdict, has_champion)


def _write_predictions(metric: str, verdict: str, has_champion: bool) -> None:
    """Write squared errors of all; a champion that stays has those of the winner."""
    rng = np.random.default_rng(0)
    manifest = pd.read_parquet(layout.MANIFEST, columns=["id", "split"])
    parts = []
    for name, spread in ERRORS.items():
        splits = ["test"]
        if name in (WINNER, "gradient", "nothing"):
            splits.append("validation")
        for split in splits:
            rows = manifest[manifest["split"] == split]
            errors = rng.normal(0, spread, len(rows)) ** 2
            parts.append(rows.assign(**{"candidate": name, metric: errors}))
    if has_champion:
        rows = parts[0].assign(candidate=CHAMPION)
        if verdict != "keep":
            rows[metric] += 0.1
        parts.append(rows)
    pd.concat(parts, ignore_index=True).to_parquet(layout.PREDICTIONS, index=False)
