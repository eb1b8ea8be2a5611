"""A person vouches for a registered version: with a key of theirs, beside all that is measured."""

import tempfile
from pathlib import Path

from plumbline import bundle, packaging, registry, tracking
from plumbline.bundle import signatures
from plumbline.errors import BundleError, RegistryError


def sign(name: str, version: str, key: Path) -> str:
    """Sign the bundle of a version with the private `key`, put the signature beside the version, return the digest.

    Raises BundleError where the files are not those that were registered, ParamsError where the key is none.
    """
    from mlflow.exceptions import MlflowException

    uri = f"models:/{name}/{version}"
    found = registry.resolve(uri)
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private, bundle.steady(packaging.folder(uri)) as files:
        bundle.verify(files, Path(uri))
        digest = bundle.digest(files)
        if digest != found.tags.get(registry.BUNDLE_TAG):
            raise BundleError(f"{uri}: is not the bundle that was registered; do not sign it")
        signature = Path(private) / signatures.NAME
        signatures.write(files, key, signature)
        try:
            tracking.connect().log_artifact(found.run_id, str(signature))
        except (MlflowException, OSError) as error:
            raise RegistryError(f"{uri}: its signature cannot be kept ({tracking.first_line(error)})") from None
    return digest
