"""What a registry is to its readers, who need no MLflow: its import takes seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from plumbline.contract.errors import AbsentVersionError, RegistryError
from plumbline.contract.suggestion import suggest_nearest
from plumbline.registry.reader.addresses import (
    CHALLENGER,
    CHAMPION,
    VersionAddress,
    describe_registry,
)
from plumbline.tracking import store_location

if TYPE_CHECKING:
    from plumbline.registry.reader.database import DatabaseStore
    from plumbline.registry.reader.rest import RestStore

RegistryStore: TypeAlias = "DatabaseStore | RestStore"
TIMEOUT_S = 30  # a tracking server on a busy machine takes more than 10 seconds


@dataclass(frozen=True)
class RegisteredVersion:
    """What the registry knows of a version: its tags, and where its files are."""

    name: str
    number: str
    tags: Mapping[str, str]
    package: str  # the location of its package
    run_id: str | None
    run_files: str | None  # the location of what its run logged; None where the run is gone

    @property
    def label(self) -> str:
        """How it is called in messages."""
        return f"{self.name} version {self.number}"


def build_absent_error(address: VersionAddress) -> AbsentVersionError:
    """The error for a version that the registry does not have."""
    if address.alias:
        known = [CHAMPION, CHALLENGER]
        hint = "" if address.alias in known else suggest_nearest(address.alias, known)
        reason = f"no version has the alias {address.alias}{hint}"
    else:
        reason = f"there is no version {address.number}"
    return AbsentVersionError(
        f"{address}: {reason} in {describe_registry()}; train and register one with `dvc repro`"
    )


def build_unreadable_error(address: VersionAddress, reason: str) -> RegistryError:
    """The error for a registry that does not answer, or not in a way that can be understood."""
    return RegistryError(
        f"{address}: {describe_registry()} cannot be read ({reason}). It is that of this "
        "folder, or of MLFLOW_TRACKING_URI; `make run` makes one, `plumbline doctor` looks at it"
    )


def connect_store() -> RegistryStore:
    """Connect to the registry that MLFLOW_TRACKING_URI names, or to the checkout's own."""
    uri = store_location.find_uri()
    if uri.startswith(("http://", "https://")):
        from plumbline.registry.reader.rest import RestStore

        return RestStore(uri)
    if uri.startswith(("sqlite:///", "postgresql")):
        from plumbline.registry.reader.database import DatabaseStore

        store_location.follow_move()
        return DatabaseStore(uri)
    raise RegistryError(
        f"{describe_registry()}: plumbline reads a registry at http://, https://, sqlite:/// or "
        "postgresql://; set MLFLOW_TRACKING_URI to one of these"
    )
