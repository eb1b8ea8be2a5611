"""reports/registration.json: what register did with the evidence here."""

from collections.abc import Mapping
from typing import Any

from plumbline.contract import layout
from plumbline.process.files import digest_path, write_json
from plumbline.registry import registrations


def write_registration(model: str, evidence: Mapping[str, Any], version: str | None) -> None:
    """Write which version has this evidence; None where nothing was registered."""
    write_json(
        layout.REGISTRATION,
        {
            "model": model,
            "version": version,
            "winner": evidence.get("winner"),
            "verdict": evidence["verdict"],
            "evidence": digest_path(layout.EVIDENCE),
        },
    )


def find_earlier_version(model: str, evidence: Mapping[str, Any]) -> str | None:
    """Return the version that a `dvc repro` with these very values registered; None without one.

    DVC restores its evidence in an experiment that tries the same.
    """
    if evidence["verdict"] not in ("promote", "keep"):
        return None
    version = registrations.find_registered_version(model, evidence["digests"]["bundle"])
    return str(version.version) if version else None
