"""The registry read without MLflow, whose import takes longer than a server may take to start."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol
from urllib.parse import quote

from plumbline.contract.errors import RegistryError
from plumbline.registry.reader import artifacts
from plumbline.registry.reader.addresses import VersionAddress, describe_registry
from plumbline.tracking import store_location

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, RowMapping, TableClause

TIMEOUT_S = 10
WORKSPACE = "default"
DELETED = "Deleted_Internal"  # what MLflow writes in place of removing a version
COLUMNS = {
    "model_versions": (
        "name", "version", "workspace", "current_stage", "storage_location", "source", "run_id",
    ),
    "model_version_tags": ("name", "version", "workspace", "key", "value"),
    "registered_model_tags": ("name", "workspace", "key", "value"),
    "registered_model_aliases": ("name", "alias", "workspace", "version"),
    "logged_models": ("model_id", "artifact_location"),
    "runs": ("run_uuid", "artifact_uri"),
}  # fmt: skip


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


class RegistryStore(Protocol):
    """One registry; RegistryError where it is unreachable."""

    def find_version(self, address: VersionAddress) -> RegisteredVersion:
        """Find the version at an address; RegistryError where there is none."""
        ...

    def read_model_tag(self, address: VersionAddress, key: str) -> str | None:
        """Read a tag of the model at an address; None where it has no such tag."""
        ...

    def open_artifact(self, location: str, name: str) -> "IO[bytes]":
        """Open the file `name` (a/b/c) at a location; OSError or ValueError if it is unreadable."""
        ...


def connect_store() -> RegistryStore:
    """Connect to the registry that MLFLOW_TRACKING_URI names, or to the checkout's own."""
    uri = store_location.find_uri()
    if uri.startswith(("http://", "https://")):
        from plumbline.registry.reader.rest import RestStore

        return RestStore(uri)
    if uri.startswith(("sqlite:///", "postgresql")):
        return DatabaseStore(uri)
    raise RegistryError(
        f"{describe_registry()}: plumbline reads a registry at http://, https://, sqlite:/// or "
        "postgresql://; set MLFLOW_TRACKING_URI to one of these"
    )


class DatabaseStore:
    """A registry in SQLite or PostgreSQL, read by SQL and never written."""

    def __init__(self, uri: str) -> None:
        self._engine = _create_engine(uri)

    def find_version(self, address: VersionAddress) -> RegisteredVersion:
        """See RegistryStore."""
        with self._connect(address) as connection:
            number = address.number or _read_alias(connection, address)
            row = _read_version(connection, address.name, int(number))
            if row is None:
                raise build_absent_error(address)
            return RegisteredVersion(
                address.name,
                number,
                _read_tags(connection, address.name, int(number)),
                row["storage_location"] or _read_logged_location(connection, row["source"]),
                row["run_id"],
                _read_run_location(connection, row["run_id"]),
            )

    def read_model_tag(self, address: VersionAddress, key: str) -> str | None:
        """See RegistryStore."""
        from sqlalchemy import select

        tags = _build_table("registered_model_tags")
        wanted = (
            tags.c.name == address.name,
            tags.c.key == key,
            tags.c.workspace == WORKSPACE,
        )
        with self._connect(address) as connection:
            return connection.execute(select(tags.c.value).where(*wanted)).scalar()

    def open_artifact(self, location: str, name: str) -> "IO[bytes]":
        """See RegistryStore."""
        return artifacts.open_artifact(location, name)

    @contextmanager
    def _connect(self, address: VersionAddress) -> "Iterator[Connection]":
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            reason = store_location.shorten_error(getattr(error, "orig", None) or error)
            raise build_unreadable_error(address, reason) from None


def build_absent_error(address: VersionAddress) -> RegistryError:
    """The error for a version that the registry does not have."""
    if address.alias:
        reason = f"no version has the alias {address.alias}"
    else:
        reason = f"there is no version {address.number}"
    return RegistryError(
        f"{address}: {reason} in {describe_registry()}; train and register one with `dvc repro`"
    )


def build_unreadable_error(address: VersionAddress, reason: str) -> RegistryError:
    """The error for a registry that does not answer, or not in a way that can be understood."""
    return RegistryError(
        f"{address}: {describe_registry()} cannot be read ({reason}). Try `plumbline doctor`; if "
        "nothing was registered yet, train and register a version with `dvc repro`"
    )


def _create_engine(uri: str) -> "Engine":
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError
    from sqlalchemy.pool import NullPool

    if uri.startswith("sqlite"):
        path = Path(make_url(uri).database or "").resolve()

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=TIMEOUT_S)

        return create_engine("sqlite://", creator=connect, poolclass=NullPool)
    limits = {
        "connect_timeout": TIMEOUT_S,
        "options": f"-c default_transaction_read_only=on -c statement_timeout={TIMEOUT_S}s",
    }
    try:
        return create_engine(uri, connect_args=limits, poolclass=NullPool)
    except ModuleNotFoundError as error:
        raise RegistryError(
            f"a registry in PostgreSQL needs the package {error.name}; run `make setup`"
        ) from None
    except ArgumentError:
        raise RegistryError("MLFLOW_TRACKING_URI is not a valid database URL") from None


def _build_table(name: str) -> "TableClause":
    from sqlalchemy import column, table

    return table(name, *map(column, COLUMNS[name]))


def _read_alias(connection: "Connection", address: VersionAddress) -> str:
    """The number of the version that has the alias."""
    from sqlalchemy import select

    aliases = _build_table("registered_model_aliases")
    wanted = (
        aliases.c.name == address.name,
        aliases.c.alias == address.alias,
        aliases.c.workspace == WORKSPACE,
    )
    number = connection.execute(select(aliases.c.version).where(*wanted)).scalar()
    if number is None:
        raise build_absent_error(address)
    return str(number)


def _read_version(connection: "Connection", name: str, number: int) -> "RowMapping | None":
    from sqlalchemy import select

    versions = _build_table("model_versions")
    wanted = (
        versions.c.name == name,
        versions.c.version == number,
        versions.c.workspace == WORKSPACE,
        versions.c.current_stage != DELETED,
    )
    return connection.execute(select(versions).where(*wanted)).mappings().one_or_none()


def _read_tags(connection: "Connection", name: str, number: int) -> dict[str, str]:
    from sqlalchemy import select

    tags = _build_table("model_version_tags")
    wanted = (tags.c.name == name, tags.c.version == number, tags.c.workspace == WORKSPACE)
    rows = connection.execute(select(tags.c.key, tags.c.value).where(*wanted))
    return {row.key: row.value for row in rows}


def _read_logged_location(connection: "Connection", source: str) -> str:
    """The location of a package that the registry knows by its source alone."""
    from sqlalchemy import select

    models = _build_table("logged_models")
    wanted = models.c.model_id == source.removeprefix("models:/")
    location = connection.execute(select(models.c.artifact_location).where(wanted)).scalar()
    return str(location or source)


def _read_run_location(connection: "Connection", run_id: str | None) -> str | None:
    from sqlalchemy import select

    runs = _build_table("runs")
    wanted = runs.c.run_uuid == run_id
    return connection.execute(select(runs.c.artifact_uri).where(wanted)).scalar()
