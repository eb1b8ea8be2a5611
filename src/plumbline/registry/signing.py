"""Sign a registered version and its evidence with a key, beside all that is measured.

Two signatures lie in the version's run: one of every file of the bundle, for who serves it, and one
of evidence.json, which names the bundle's digest, for who promotes it.
"""

import tempfile
from pathlib import Path

from plumbline.bundle import signatures
from plumbline.contract.errors import RegistryError
from plumbline.registry.reader import open_version
from plumbline.registry.reader.run_files import EVIDENCE_SIGNATURE, fetch_evidence
from plumbline.tracking import mlflow_client, store_errors


def sign(name: str, version: str, key: Path) -> str:
    """Sign bundle and evidence of a version with the private `key`; return the bundle's digest.

    Raises BundleError where the files are not those that were registered, ParamsError where the
    key cannot be used.
    """
    address = f"models:/{name}/{version}"
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-") as private,
        open_version(address, signed=False) as opened,
    ):
        folder = Path(private)
        evidence = fetch_evidence(opened.registered, folder / "evidence")
        signatures.write_signature(opened.folder, key, folder / signatures.NAME)
        signatures.write_signature(evidence.parent, key, folder / EVIDENCE_SIGNATURE)
        try:
            client = mlflow_client.connect()
            for file in (signatures.NAME, EVIDENCE_SIGNATURE):
                client.log_artifact(str(opened.registered.run_id), str(folder / file))
        except Exception as error:
            if not store_errors.is_store_error(error):
                raise
            raise RegistryError(
                f"{opened.registered.label}: its signature cannot be kept "
                f"({store_errors.shorten_error(error)}); run the same command again"
            ) from None
        return opened.bundle
