"""What `register` is about to add, noted here, so that the next run finishes what was cut off.

The version is added to the registry before it is in the journal. Between the two it is nobody's: a
version without an entry in the journal may be anyone's. The note says that it is this checkout's.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from plumbline.process.files import read_json, write_json
from plumbline.registry.reader.addresses import BUNDLE_TAG

if TYPE_CHECKING:
    from mlflow import MlflowClient

NOTE = Path(".plumbline/registering.json")


class UnfinishedRegistration(NamedTuple):
    """A version that is about to be added, and what the journal will say of it."""

    model: str
    bundle: str
    evidence: str
    reason: str
    logged_model: str  # the id of the package in MLflow, which this checkout logged and verified


def note_registration(registration: UnfinishedRegistration) -> None:
    """Remember, before the version is added."""
    write_json(NOTE, registration._asdict())


def forget_registration() -> None:
    """Forget, once the journal has the version."""
    NOTE.unlink(missing_ok=True)


def read_note(model: str, bundle: str) -> UnfinishedRegistration | None:
    """Return what was noted about this bundle; None without it."""
    try:
        noted = UnfinishedRegistration(**read_json(NOTE))
    except (OSError, ValueError, TypeError):
        return None
    return noted if (noted.model, noted.bundle) == (model, bundle) else None


def find_added_version(client: "MlflowClient", noted: UnfinishedRegistration) -> Any | None:
    """Find the version that was made of the noted package; None where none was."""
    query = f"name = '{noted.model}' and tags.`{BUNDLE_TAG}` = '{noted.bundle}'"
    for version in client.search_model_versions(query):
        if noted.logged_model in (version.model_id, version.source.removeprefix("models:/")):
            return version
    return None
