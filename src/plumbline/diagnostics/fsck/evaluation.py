"""Bundles compared with their seals, and evidence with what follows from its answers."""

from pathlib import Path

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, PlumblineError, StaleEvidenceError
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.entrypoint import load_params, load_task
from plumbline.evidence import document
from plumbline.evidence.verify import verify_evidence


def check_bundles() -> list[DiagnosticResult]:
    """Compare each trained model here with its seal, whatever dvc.lock says of it."""
    seals = sorted(layout.MODELS.rglob(bundle.SEAL))
    faults = []
    for seal in seals:
        try:
            bundle.verify(seal.parent)
        except BundleError as error:
            remedy = f"`dvc repro --force --single-item {_name_stage(seal)}` trains it again"
            faults.append(DiagnosticResult("bundles", False, str(error), remedy))
    return faults or [DiagnosticResult("bundles", True, f"{len(seals)} here, each as sealed")]


def check_evidence() -> DiagnosticResult:
    """Judge what was recorded once more; what is out of date here is a warning."""
    if not layout.EVIDENCE.exists():
        return DiagnosticResult("evidence", True, "nothing was evaluated here")
    try:
        params = load_params(layout.PARAMS)
        evidence = document.read_evidence(params)
        verify_evidence(evidence, params, load_task(params.task))
    except StaleEvidenceError as error:
        return _report(error, is_ok=True)
    except PlumblineError as error:
        return _report(error, is_ok=False)
    if evidence["verdict"] != "error":
        message = "its verdict follows from the answers that were recorded"
        return DiagnosticResult("evidence", True, message)
    return DiagnosticResult("evidence", True, f"{evidence['verdict']}: nothing is registered")


def _report(error: PlumblineError, *, is_ok: bool) -> DiagnosticResult:
    message, _, remedy = str(error).rpartition("; ")
    return DiagnosticResult("evidence", is_ok, message or remedy, remedy)


def _name_stage(seal: Path) -> str:
    """Return the stage that wrote a bundle, as DVC calls it."""
    name = seal.relative_to(layout.MODELS).parts[0].removesuffix(".seeds")
    control = layout.name_control("")
    if name.startswith(control):
        return f"control@{name.removeprefix(control)}"
    return f"train@{name}"
