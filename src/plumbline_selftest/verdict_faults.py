"""Faults in evidence.json, planted between evaluate and register."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from plumbline.contract import layout
from plumbline.evidence import document
from plumbline.evidence.withholding import withhold_figures
from plumbline.process.files import read_json, write_json
from plumbline_selftest.gate_faults import raise_floor
from plumbline_selftest.protocol import Fault, FaultSite


def rewrite_evidence(change: Callable[[dict[str, Any]], object]) -> Callable[[FaultSite], None]:
    """Return what lets `change` edit evidence.json, and seals it again as evaluate does."""

    def plant(site: FaultSite) -> None:
        evidence = read_json(layout.EVIDENCE)
        change(evidence)
        write_json(layout.EVIDENCE, document.seal_evidence(evidence))

    return plant


def _edit_gate(site: FaultSite) -> None:
    """Write another reason, and leave the seal as it was."""
    evidence = read_json(layout.EVIDENCE)
    evidence["gates"][0]["reason"] = "it was nothing"
    write_json(layout.EVIDENCE, evidence)


def _claim_verdict(evidence: dict[str, Any]) -> None:
    """Promote although a gate fails, as a refused model's evidence with another verdict says."""
    evidence["gates"][0]["status"] = "fail"


def _drop_gate(evidence: dict[str, Any]) -> None:
    evidence["gates"] = [gate for gate in evidence["gates"] if gate["name"] != "champion"]


def _claim_score(evidence: dict[str, Any]) -> None:
    scores = evidence["candidates"][evidence["winner"]]["test"]
    scores[evidence["metric"]["name"]] *= 1.01


def _flip_gates(site: FaultSite) -> None:
    """Let gates fail, and write that they passed, with the verdict and metrics that follow."""
    raise_floor(site)
    site.run("evaluate")
    evidence = read_json(layout.EVIDENCE)
    for gate in evidence["gates"]:
        if gate["status"] == "fail":
            gate["status"] = "pass"
    _claim_in_all_files(evidence | {"verdict": "promote", "summary": "it may be promoted."})


def _flip_to_refusal(site: FaultSite) -> None:
    """Let a gate of a sound model fail: on record, that would stop the bundle for good."""
    evidence = read_json(layout.EVIDENCE)
    for gate in evidence["gates"]:
        if gate["name"] == "floor":
            gate["status"] = "fail"
    _claim_in_all_files(evidence | {"verdict": "refuse", "summary": "floor failed."})


def _claim_in_all_files(evidence: dict[str, Any]) -> None:
    """Write evidence with the metrics that follow from it, both as evaluate does."""
    write_json(layout.METRICS, document.extract_metrics(withhold_figures(evidence)))
    write_json(layout.EVIDENCE, document.seal_evidence(evidence))


def _claim_lag(evidence: dict[str, Any]) -> None:
    evidence["lag"] = -0.5


def _claim_fewer_candidates(evidence: dict[str, Any]) -> None:
    evidence["bundles"] = dict(list(evidence["bundles"].items())[:1])


def _claim_winner(evidence: dict[str, Any]) -> None:
    evidence["winner"] = layout.name_control(evidence["winner"])


def _drop_key(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda evidence: evidence.pop(key)


def _drop_digest(evidence: dict[str, Any]) -> None:
    del evidence["digests"]["predictions"]


def _expect_error(name: str, message: str, plant: Callable[[FaultSite], None]) -> Fault:
    return Fault(name, message, "error", plant, before="register")


FAULTS = (
    _expect_error("evidence edited by hand", "was edited", _edit_gate),
    _expect_error(
        "a verdict rewritten, evidence sealed again",
        "from its gates follows",
        rewrite_evidence(_claim_verdict),
    ),
    _expect_error(
        "a gate taken out of the evidence",
        "its gates are not those",
        rewrite_evidence(_drop_gate),
    ),
    _expect_error(
        "a score in the evidence that was not measured",
        "the evidence was edited",
        rewrite_evidence(_claim_score),
    ),
    _expect_error("failed gates flipped to pass", "is recorded, fail follows", _flip_gates),
    _expect_error(
        "a passed gate flipped to fail", "fail is recorded, pass follows", _flip_to_refusal
    ),
    _expect_error(
        "a lag in the evidence that was not measured",
        "follows another lag",
        rewrite_evidence(_claim_lag),
    ),
    replace(
        _expect_error(
            "evidence without its control",
            "does not name each candidate and control",
            rewrite_evidence(_claim_fewer_candidates),
        ),
        needs_control=True,
    ),
    _expect_error(
        "another winner named in the evidence",
        "is not what the evidence is about",
        rewrite_evidence(_claim_winner),
    ),
    _expect_error(
        "evidence without its params",
        "has no params",
        rewrite_evidence(_drop_key("params")),
    ),
    _expect_error("evidence without a digest", "has no digest", rewrite_evidence(_drop_digest)),
    _expect_error("no evidence", "missing or damaged", lambda site: layout.EVIDENCE.unlink()),
)
