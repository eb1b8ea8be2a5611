"""Sign a registered version with a person's key, beside all that is measured."""

import tempfile
from pathlib import Path

from plumbline.bundle import signatures
from plumbline.contract.errors import RegistryError
from plumbline.registry.reader import open_version
from plumbline.tracking import mlflow_client, store_location


def sign(name: str, version: str, key: Path) -> str:
    """Sign the bundle of a version with the private `key`, log the signature; return the digest.

    Raises BundleError where the files are not those that were registered, ParamsError where the
    key cannot be used.
    """
    from mlflow.exceptions import MlflowException

    address = f"models:/{name}/{version}"
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-") as private,
        open_version(address, "sign") as opened,
    ):
        signature = Path(private) / signatures.NAME
        signatures.write_signature(opened.folder, key, signature)
        try:
            mlflow_client.connect().log_artifact(opened.registered.run_id, str(signature))
        except (MlflowException, OSError) as error:
            raise RegistryError(
                f"{address}: its signature cannot be kept ({store_location.shorten_error(error)})"
            ) from None
        return opened.bundle
