"""What lies beside a registered version, in its run: the evidence, and the files it is about."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.bundle import signatures, strict
from plumbline.bundle.files import MAX_BYTES
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, RegistryError
from plumbline.process.files import digest_path
from plumbline.registry.reader import artifacts
from plumbline.registry.reader.addresses import BUNDLE_TAG, EVIDENCE_TAG, GOLDEN_TAG
from plumbline.registry.reader.stores import RegisteredVersion, connect_store

EVIDENCE_SIGNATURE = "evidence.sig"
MAX_EVIDENCE = 256 << 20  # bytes


def read_evidence(version: RegisteredVersion, key: Path | None = None) -> dict[str, Any]:
    """Read evidence.json of a version's run; with a public `key` its owner must have signed it.

    BundleError where it is not what was registered, or is about another model, bundle or golden
    rows than those of this version.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        path = fetch_evidence(version, Path(private) / "evidence")
        if key is not None:
            signature = fetch_signature(version, EVIDENCE_SIGNATURE, Path(private), key)
            signatures.verify_signature(path.parent, signature, key, Path(version.label))
        evidence = _parse_evidence(path.read_bytes(), version)
    _require_own_evidence(version, evidence)
    return evidence


def fetch_evidence(version: RegisteredVersion, folder: Path) -> Path:
    """Fetch evidence.json alone into a new folder; BundleError where it is not what was tagged."""
    folder.mkdir()
    try:
        path = fetch_run_file(version, layout.EVIDENCE.name, folder, MAX_EVIDENCE)
    except artifacts.MissingArtifactError as error:
        raise BundleError(
            f"{version.label}: its evidence does not exist ({error}); restore it from a "
            "backup, do not use the version"
        ) from None
    if digest_path(path) != version.tags.get(EVIDENCE_TAG):
        raise _build_evidence_error(version, "has another digest")
    return path


def fetch_signature(version: RegisteredVersion, name: str, folder: Path, key: Path) -> Path:
    """Fetch a signature beside a version into `folder`; BundleError where there is none."""
    try:
        return fetch_run_file(version, name, folder, signatures.MAX_BYTES)
    except artifacts.MissingArtifactError:
        raise BundleError(
            f"{version.label}: is not signed, and only what {key} signed may be used here ({name} "
            f"is missing); `plumbline sign {version.name} {version.number} --key KEY` adds it"
        ) from None


def fetch_run_file(
    version: RegisteredVersion, name: str, folder: Path, limit: int = MAX_BYTES
) -> Path:
    """Fetch a file that a version's run logged into `folder`.

    MissingArtifactError where it does not exist, RegistryError where it cannot be read.
    """
    if version.run_files is None:
        raise RegistryError(
            f"{version.label}: {name} cannot be fetched (its run {version.run_id} does not exist)"
        )
    try:
        artifacts.fetch_artifact(connect_store(), version.run_files, name, folder / name, limit)
    except RegistryError as error:
        raise type(error)(f"{version.label}: {error}") from None
    return folder / name


def fetch_recorded_file(
    version: RegisteredVersion, evidence: Mapping[str, Any], path: Path, folder: Path
) -> Path:
    """Fetch the copy of `path` that a version's run logged; its digest has to be in `evidence`.

    RegistryError where the run does not have it, BundleError where it is another file.
    """
    copy = fetch_run_file(version, path.name, folder)
    if digest_path(copy) != (evidence.get("digests") or {}).get(path.stem):
        raise BundleError(
            f"{version.label}: {path.name} beside it is not the one that its evidence is about; "
            "restore it from a backup"
        )
    return copy


def _parse_evidence(raw: bytes, version: RegisteredVersion) -> dict[str, Any]:
    """BundleError for what `evaluate` did not write, also where the tag names its digest."""
    try:
        evidence: dict[str, Any] = strict.parse_json(raw)
        dict(evidence["digests"])
    except (ValueError, LookupError, TypeError) as error:
        raise _build_evidence_error(version, f"is damaged: {error}") from None
    return evidence


def _require_own_evidence(version: RegisteredVersion, evidence: Mapping[str, Any]) -> None:
    """BundleError where evidence was made for something else, however well it is signed."""
    digests = evidence["digests"]
    for subject, actual, expected in (
        ("another model", evidence.get("model"), version.name),
        ("another bundle", digests.get("bundle"), version.tags.get(BUNDLE_TAG)),
        ("other golden rows", digests.get("golden"), version.tags.get(GOLDEN_TAG)),
    ):
        if actual is None or actual != expected:
            raise BundleError(
                f"{version.label}: its evidence is about {subject} ({actual}, not {expected}); "
                "do not use it"
            )


def _build_evidence_error(version: RegisteredVersion, reason: str) -> BundleError:
    return BundleError(
        f"{version.label}: its evidence was changed since it was registered "
        f"({layout.EVIDENCE.name} of run {version.run_id} {reason}); "
        "restore it from a backup, do not use the version"
    )
