"""Evidence as evaluate would leave it, with the verdict that a test asks for."""

import pandas as pd

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.evidence import document, gates, withholding
from plumbline.evidence.gates.switched_off import find_switched_off

ROWS = {"v0": "validation", "v1": "validation", "t0": "test", "t1": "test"}
FAILED = {"promote": [], "keep": ["champion"], "refuse": ["floor"]}
SCORE = 0.5


def write_evidence(
    params: Params, task: Task, verdict: str = "promote", champion: dict | None = None
) -> None:
    """Write reports/evidence.json on models/closed, and what it is about and a test left out."""
    winner = "closed"
    metric = task.metric.name
    _write_files(winner, metric, champion is not None)
    seal = layout.locate_bundle(winner) / bundle.SEAL
    paths = document.DIGESTED_FILES | {"bundle": seal, "params": layout.PARAMS}
    scored = {"test": {metric: SCORE}, "validation": {metric: SCORE}}
    evidence = dict.fromkeys(document.KEYS) | {
        "format": document.FORMAT,
        "task": task.name,
        "model": params.registry.model,
        "verdict": verdict,
        "summary": f"closed: {verdict}",
        "winner": winner,
        "gates": describe_gates(verdict),
        "thresholds": params.evaluation.model_dump(mode="json"),
        "params": document.describe_params(params),
        "candidates": {winner: scored},
        "baselines": {},
        "switched_off": find_switched_off(params, {}, task.metric),
        "lineage": {},
        "champion": champion and {"metrics": {metric: SCORE}} | champion,
        "digests": {name: layout.digest(path) for name, path in paths.items()},
    }
    shown = withholding.withhold_figures(evidence)
    layout.write_json(layout.METRICS, document.extract_metrics(shown))
    layout.write_json(layout.EVIDENCE, document.seal_evidence(evidence))


def describe_gates(verdict: str) -> list[dict]:
    """Every gate, as it has to be for this verdict."""
    described = []
    for name, question, _ in gates.GATES:
        status = "fail" if name in FAILED[verdict] else "pass"
        gate = {"name": name, "question": question, "status": status}
        described.append(gate | {"reason": "0.5 is below 0.8"})
    return described


def _write_files(winner: str, metric: str, has_champion: bool) -> None:
    for path in (
        layout.REPORT,
        layout.PARAMS,
        layout.REFERENCE,
        layout.VALIDATION,
        layout.EXAMPLES / "test.csv",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text("{}", encoding="utf-8")
    ids = pd.Series(list(ROWS), name="id")
    manifest = pd.DataFrame({"id": ids, "split": list(ROWS.values()), "label": "a", "digest": ids})
    manifest.to_parquet(layout.MANIFEST, index=False)
    rows = [_score_rows(manifest, winner, metric)]
    if has_champion:
        rows.append(_score_rows(manifest[manifest["split"] == "test"], "@champion", metric))
    pd.concat(rows, ignore_index=True).to_parquet(layout.PREDICTIONS, index=False)


def _score_rows(manifest: pd.DataFrame, name: str, metric: str) -> pd.DataFrame:
    return manifest[["id", "split"]].assign(**{"candidate": name, metric: SCORE})
