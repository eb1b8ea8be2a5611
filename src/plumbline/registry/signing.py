"""Sign a registered version and its evidence with a key, beside all that is measured.

Two signatures lie in the version's run: one of every file of the bundle, for who serves it, and one
of evidence.json, which names the bundle's digest, for who promotes it.
"""

import os
import tempfile
from pathlib import Path

from plumbline.bundle import signatures
from plumbline.contract.errors import ParamsError, RegistryError
from plumbline.registry.model_versions import log_records
from plumbline.registry.reader import open_version
from plumbline.registry.reader.run_files import EVIDENCE_SIGNATURE, fetch_evidence
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.tracking import mlflow_client, store_errors

KEY_VARIABLE = "PLUMBLINE_PRIVATE_KEY"


def sign(name: str, version: str, key: Path) -> str:
    """Sign bundle and evidence of a version with the private `key`; return the bundle's digest.

    Raises BundleError where the files are not those that were registered, ParamsError where the
    key cannot be used.
    """
    address = f"models:/{name}/{version}"
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-") as private,
        open_version(address, "sign") as opened,
    ):
        folder = Path(private)
        evidence = fetch_evidence(opened.registered, folder / "evidence")
        signatures.write_signature(opened.folder, key, folder / signatures.NAME)
        signatures.write_signature(evidence.parent, key, folder / EVIDENCE_SIGNATURE)
        written = [folder / signatures.NAME, folder / EVIDENCE_SIGNATURE]
        _log_signatures(opened.registered, written)
        return opened.bundle


def find_private_key() -> Path | None:
    """The key with which `register` signs: PLUMBLINE_PRIVATE_KEY, a PEM file, or None."""
    value = os.environ.get(KEY_VARIABLE)
    if value is None:
        return None
    if not value.strip():
        raise ParamsError(f"{KEY_VARIABLE} is empty: name a PEM file, or unset it to sign nothing")
    return Path(value)


def _log_signatures(version: RegisteredVersion, written: list[Path]) -> None:
    try:
        log_records(mlflow_client.connect(), str(version.run_id), written)
    except Exception as error:
        if not store_errors.is_store_error(error):
            raise
        raise RegistryError(
            f"{version.label}: its signature cannot be kept ({store_errors.shorten_error(error)}); "
            f"`plumbline sign {version.name} {version.number} --key KEY` tries again"
        ) from None
