"""What came of a run, as a GitHub workflow goes on with it."""

import os
from typing import Any

from plumbline.ci import github
from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError, PlumblineError
from plumbline.contract.params import Params
from plumbline.evidence import document
from plumbline.evidence.verdict import EXIT_CODES
from plumbline.registry import promotion
from plumbline.reporting import html, report


def tell(params: Params) -> int:
    """Set the step's outputs and the job's summary; the exit code: 0 for promote and keep, 20 for refuse, else 1.

    Outputs: `verdict`, and of what is registered `model`, `version`, `bundle`, `champion` (a version or "none") and
    `waits`: `yes` where the version may be promoted and a person has to say so.
    """
    try:
        evidence = document.read(params)
        registered = _registered(evidence) if evidence["verdict"] in ("promote", "keep") else {}
    except PlumblineError as error:
        github.output(verdict="error")
        github.summary(
            f"## Error: no verdict was reached\n\n{html.code(str(error))}\n\nThe log says more."
        )
        raise
    verdict = evidence["verdict"]
    github.output(verdict=verdict, **registered)
    github.summary(report.markdown() + _next(registered))
    github.annotate(
        "error" if verdict in ("refuse", "error") else "notice", verdict, evidence["summary"]
    )
    return 0 if verdict == "keep" else EXIT_CODES[verdict]


def _registered(evidence: dict[str, Any]) -> dict[str, str]:
    """What `register` made of the evidence. EvidenceError where it did not come to that, or it is of another day."""
    done = layout.read_json(layout.REGISTRATION) if layout.REGISTRATION.exists() else {}
    if done.get("evidence") != layout.digest(layout.EVIDENCE):
        raise EvidenceError("what was evaluated was not registered; run `dvc repro`")
    name, version = done["model"], done["version"]
    current = promotion.current(name)
    stands = current.version if current else promotion.NONE
    compared = str(evidence["champion"]["version"]) if evidence["champion"] else promotion.NONE
    if compared != stands != version:
        raise EvidenceError(
            f"the champion is {stands}, the evidence compares with {compared}; `plumbline champion --pin`, `dvc repro`"
        )
    waits = evidence["verdict"] == "promote" and stands != version
    bundle = evidence["digests"]["bundle"]
    told = {"model": name, "version": version, "bundle": bundle, "champion": stands}
    return told | {"waits": "yes" if waits else "no"}


def _next(registered: dict[str, str]) -> str:
    """How it goes on; a pull request's registry ends with its run, and so do its versions."""
    if registered.get("waits") != "yes" or os.environ.get("GITHUB_EVENT_NAME") == "pull_request":
        return ""
    command = "plumbline promote {model} {version} --expect {champion} --bundle {bundle}".format(
        **registered
    )
    return f"\n\nIt waits for somebody's word: approve the run of *promote* that was started for it, or\n\n    {command}"
