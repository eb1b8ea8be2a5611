"""The result of a run, for the later steps and jobs of CI."""

import os
from typing import Any

from plumbline.ci.forge import find_forge
from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError, PlumblineError
from plumbline.contract.loading import load_task
from plumbline.contract.params import Params
from plumbline.contract.verdict import EXIT_CODES
from plumbline.evidence import document
from plumbline.evidence.verify import verify_evidence
from plumbline.process.files import digest_path, read_output
from plumbline.registry import journal_rules, promotion
from plumbline.reporting import html, summary


def publish(params: Params) -> int:
    """Set the step's outputs and the job's summary; the exit code.

    Exit codes: 0 for promote and keep, 20 for refuse, else 1. Outputs: `verdict`, and for a
    registered version `model`, `version`, `bundle`, `champion` (a version or "none") and `waits`:
    `yes` where the version may be promoted and a person has to approve it.
    """
    forge = find_forge()
    try:
        evidence = document.read_evidence(params)
        verify_evidence(evidence, params, load_task(params.task))
        registered = {}
        if evidence["verdict"] in ("promote", "keep"):
            registered = _describe_registered(evidence)
    except PlumblineError as error:
        forge.set_outputs(verdict="error")
        forge.add_summary(
            f"## Error: no verdict was reached\n\n{html.format_code(str(error))}\n\nSee the log."
        )
        raise
    verdict = evidence["verdict"]
    forge.set_outputs(verdict=verdict, **registered)
    forge.add_summary(summary.render_markdown() + _describe_next_step(registered))
    is_failure = verdict in ("refuse", "error")
    forge.annotate("error" if is_failure else "notice", verdict, evidence["summary"])
    return 0 if verdict == "keep" else EXIT_CODES[verdict]


def _describe_registered(evidence: dict[str, Any]) -> dict[str, str]:
    """What `register` made of this evidence.

    Raises EvidenceError where it registered nothing from it, or the champion is another one by now.
    """
    done = read_output(layout.REGISTRATION, "register") if layout.REGISTRATION.exists() else {}
    if done.get("evidence") != digest_path(layout.EVIDENCE):
        raise EvidenceError("the last evaluation was not registered; run `dvc repro`")
    name = done["model"]
    version = done["version"]
    entry = promotion.find_champion(name)
    champion = entry.version if entry else journal_rules.NO_CHAMPION
    compared = journal_rules.NO_CHAMPION
    if evidence["champion"]:
        compared = str(evidence["champion"]["version"])
    if champion not in (compared, version):
        raise EvidenceError(
            f"the champion is {champion}, the evidence compares with {compared}; "
            "run `plumbline champion --pin`, then `dvc repro`"
        )
    waits = evidence["verdict"] == "promote" and champion != version
    return {
        "model": name,
        "version": version,
        "bundle": evidence["digests"]["bundle"],
        "champion": champion,
        "waits": "yes" if waits else "no",
    }


def _describe_next_step(registered: dict[str, str]) -> str:
    """How to promote the version; empty in a pull request, whose registry ends with its run."""
    if registered.get("waits") != "yes" or os.environ.get("GITHUB_EVENT_NAME") == "pull_request":
        return ""
    command = "plumbline promote {model} {version} --expect {champion} --bundle {bundle}".format(
        **registered
    )
    return (
        "\n\nIt waits for approval: approve the run of *promote* that was started for it, or run"
        f"\n\n    {command}"
    )
