"""A registry in SQLite or PostgreSQL, read by SQL, without MLflow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from plumbline.contract.errors import RegistryError
from plumbline.registry.local_files import open_to_read
from plumbline.registry.reader import artifacts
from plumbline.registry.reader.addresses import VersionAddress
from plumbline.registry.reader.stores import (
    TIMEOUT_S,
    RegisteredVersion,
    build_absent_error,
    build_unreadable_error,
)
from plumbline.tracking import store_errors

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, RowMapping, TableClause

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


class DatabaseStore:
    """A registry in SQLite or PostgreSQL, read by SQL; only tags of a model are written."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
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
                row["storage_location"] or _read_logged_location(connection, row["source"] or ""),
                row["run_id"],
                _read_run_location(connection, row["run_id"]),
            )

    def read_model_tag(self, address: VersionAddress, key: str) -> str | None:
        """See RegistryStore."""
        from sqlalchemy import select

        tags = _build_table("registered_model_tags")
        query = select(tags.c.value).where(
            tags.c.name == address.name, tags.c.key == key, tags.c.workspace == WORKSPACE
        )
        with self._connect(address) as connection:
            value: str | None = connection.scalar(query)
            return value

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
            reason = store_errors.shorten_error(getattr(error, "orig", None) or error)
            raise build_unreadable_error(address, reason) from None


def _create_engine(uri: str) -> "Engine":
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError
    from sqlalchemy.pool import NullPool

    if uri.startswith("sqlite"):
        path = Path(make_url(uri).database or "").resolve()

        # It makes no database.
        return create_engine("sqlite://", creator=lambda: open_to_read(path), poolclass=NullPool)
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
    number = connection.scalar(select(aliases.c.version).where(*wanted))
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
    return connection.execute(select(versions).where(*wanted)).mappings().first()


def _read_tags(connection: "Connection", name: str, number: int) -> dict[str, str]:
    from sqlalchemy import select

    tags = _build_table("model_version_tags")
    wanted = (tags.c.name == name, tags.c.version == number, tags.c.workspace == WORKSPACE)
    rows = connection.execute(select(tags.c.key, tags.c.value).where(*wanted))
    return {key: value or "" for key, value in rows}


def _read_logged_location(connection: "Connection", source: str) -> str:
    """The location of a package that the registry knows by its source alone."""
    from sqlalchemy import select

    models = _build_table("logged_models")
    wanted = models.c.model_id == source.removeprefix("models:/")
    location = connection.scalar(select(models.c.artifact_location).where(wanted))
    return str(location or source)


def _read_run_location(connection: "Connection", run_id: str | None) -> str | None:
    from sqlalchemy import select

    runs = _build_table("runs")
    wanted = runs.c.run_uuid == run_id
    location: str | None = connection.scalar(select(runs.c.artifact_uri).where(wanted))
    return location
