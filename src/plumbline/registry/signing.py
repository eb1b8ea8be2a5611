"""A person vouches for a registered version: with a key of theirs, beside all that is measured."""

import tempfile
from pathlib import Path

from plumbline import bundle
from plumbline.bundle import signatures
from plumbline.contract.errors import BundleError, RegistryError
from plumbline.registry import model_versions
from plumbline.registry.package import packaging
from plumbline.tracking import mlflow_runs


def sign(name: str, version: str, key: Path) -> str:
    """Sign the bundle of a version with the private `key`, put the signature beside the version, return the digest.

    Raises BundleError where the files are not those that were registered, ParamsError where the key is none.
    """
    from mlflow.exceptions import MlflowException

    uri = f"models:/{name}/{version}"
    found = model_versions.resolve(uri)
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-") as private,
        bundle.steady(packaging.folder(uri)) as files,
    ):
        bundle.verify(files, Path(uri))
        digest = bundle.digest(files)
        if digest != found.tags.get(model_versions.BUNDLE_TAG):
            raise BundleError(f"{uri}: is not the bundle that was registered; do not sign it")
        signature = Path(private) / signatures.NAME
        signatures.write(files, key, signature)
        try:
            mlflow_runs.connect().log_artifact(found.run_id, str(signature))
        except (MlflowException, OSError) as error:
            raise RegistryError(
                f"{uri}: its signature cannot be kept ({mlflow_runs.first_line(error)})"
            ) from None
    return digest
