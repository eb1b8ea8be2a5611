"""Log files beside a version, and read them back: a store may keep other bytes than it was sent."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.bundle.files import MAX_BYTES
from plumbline.contract.errors import RegistryError
from plumbline.process.files import digest_path
from plumbline.registry.reader import artifacts
from plumbline.registry.reader.stores import connect_store

if TYPE_CHECKING:
    from mlflow import MlflowClient


def log_records(client: "MlflowClient", run_id: str, paths: Iterable[Path]) -> None:
    """Log files to a run, and require that its store gives the same bytes back.

    Raises what the store's client raises, and RegistryError where the bytes differ.
    """
    location = str(client.get_run(run_id).info.artifact_uri)
    for path in paths:
        client.log_artifact(run_id, str(path))
        _require_same_bytes(location, path)


def _require_same_bytes(location: str, path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        copy = Path(private) / path.name
        try:
            artifacts.fetch_artifact(connect_store(), location, path.name, copy, MAX_BYTES)
        except RegistryError as error:
            raise RegistryError(f"after the upload: {error}; run the command again") from None
        expected, found = digest_path(path), digest_path(copy)
    if found != expected:
        raise RegistryError(
            f"{location}/{path.name}: digest mismatch after the upload: expected {expected}, found "
            f"{found}; the store, or the network to it, changes bytes. Nothing was registered with "
            "them; run the command again"
        )
