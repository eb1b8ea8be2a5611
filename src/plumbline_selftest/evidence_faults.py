"""Faults of any task, planted between evaluate and register: in evidence, and what it is about."""

from collections.abc import Callable

from plumbline.contract import layout
from plumbline.evidence import document
from plumbline.evidence.withholding import withhold_figures
from plumbline.process.files import read_json, write_json
from plumbline_selftest.commands import run_command
from plumbline_selftest.gate_faults import raise_floor
from plumbline_selftest.protocol import Fault, FaultSite


def _edit_evidence(site: FaultSite) -> None:
    """Write another reason, and leave the seal as it was."""
    evidence = read_json(layout.EVIDENCE)
    evidence["gates"][0]["reason"] = "it was nothing"
    write_json(layout.EVIDENCE, evidence)


def _flip_gates(site: FaultSite) -> None:
    """Let a gate fail, and write that it passed, with the verdict, metrics and seal that follow."""
    raise_floor(site)
    run_command("evaluate")
    evidence = read_json(layout.EVIDENCE)
    for gate in evidence["gates"]:
        if gate["status"] == "fail":
            gate["status"] = "pass"
    evidence |= {"verdict": "promote", "summary": "it may be promoted."}
    write_json(layout.METRICS, document.extract_metrics(withhold_figures(evidence)))
    write_json(layout.EVIDENCE, document.seal_evidence(evidence))


def _drop_prediction(site: FaultSite) -> None:
    import pandas as pd

    pd.read_parquet(layout.PREDICTIONS)[:-1].to_parquet(layout.PREDICTIONS, index=False)


def _lower_confidence(site: FaultSite) -> None:
    site.edit_params("confidence: 0.95", "confidence: 0.90")


def _expect_error(name: str, message: str, plant: Callable[[FaultSite], None]) -> Fault:
    return Fault(name, message, "error", plant, before="register")


FAULTS = (
    _expect_error("evidence edited by hand", "was edited", _edit_evidence),
    _expect_error("failed gates flipped to pass", "is recorded, fail follows", _flip_gates),
    _expect_error("predictions edited", "is not what the evidence is about", _drop_prediction),
    _expect_error("params changed after evaluation", "evaluation.confidence", _lower_confidence),
)
