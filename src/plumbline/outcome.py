"""What came of a run, as a GitHub workflow goes on with it."""

from typing import Any

from plumbline import github, layout, page, promotion, report
from plumbline.errors import EvidenceError, PlumblineError
from plumbline.evidence import document
from plumbline.evidence.verdict import EXIT_CODES
from plumbline.params import Params

NONE = promotion.NONE


def tell(params: Params) -> int:
    """Set the step's outputs and the job's summary; the exit code: 0 for promote and keep, 20 for refuse, else 1.

    Outputs: `verdict`, and of what is registered `model`, `version`, `bundle`, `champion` (a version or "none") and
    `waits`: `yes` where the version may be promoted and a person has to say so.
    """
    try:
        evidence = document.read(params)
        waits = _registered(evidence) if evidence["verdict"] in ("promote", "keep") else {}
    except PlumblineError as error:
        github.output(verdict="error")
        github.summary(f"## Error: no verdict was reached\n\n{page.code(str(error))}\n\nThe log says more.")
        raise
    verdict = evidence["verdict"]
    github.output(verdict=verdict, **waits)
    github.summary(report.markdown() + _next(waits))
    github.annotate("error" if verdict in ("refuse", "error") else "notice", verdict, evidence["summary"])
    return 0 if verdict == "keep" else EXIT_CODES[verdict]


def _registered(evidence: dict[str, Any]) -> dict[str, str]:
    """What `register` made of the evidence. EvidenceError where it did not come to that."""
    done = layout.read_json(layout.REGISTRATION) if layout.REGISTRATION.exists() else {}
    if done.get("evidence") != layout.digest(layout.EVIDENCE):
        raise EvidenceError("what was evaluated was not registered; run `dvc repro`")
    name, version = done["model"], done["version"]
    current = promotion.current(name)
    stands = current.version if current else NONE
    waits = evidence["verdict"] == "promote" and stands != version
    bundle = evidence["digests"]["bundle"]
    return {
        "model": name,
        "version": version,
        "bundle": bundle,
        "champion": stands,
        "waits": "yes" if waits else "no",
    }


def _next(waits: dict[str, str]) -> str:
    if waits.get("waits") != "yes":
        return ""
    command = (
        f"plumbline promote {waits['model']} {waits['version']} --expect {waits['champion']} --bundle {waits['bundle']}"
    )
    return (
        f"\n\nIt waits for somebody's word: approve the job *promote*, run the workflow *promote*, or\n\n    {command}"
    )
