"""The registry read without MLflow, whose import alone takes longer than a server may take to start."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol
from urllib.parse import quote

from plumbline.contract.errors import RegistryError
from plumbline.registry import model_versions
from plumbline.registry.model_versions import Address
from plumbline.registry.reader import artifacts
from plumbline.tracking import mlflow_runs

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, TableClause

TIMEOUT_S = 10
WORKSPACE = "default"
DELETED = "Deleted_Internal"  # what MLflow writes in place of removing a version


@dataclass(frozen=True)
class Version:
    """A registered version: what its tags say, where its package lies and where its run keeps what was logged."""

    name: str
    number: str
    tags: Mapping[str, str]
    package: str
    run: str | None


class Store(Protocol):
    """One registry; RegistryError where it is away."""

    def version(self, asked: Address) -> Version:
        """The version that is asked for; RegistryError where there is none."""
        ...

    def open(self, location: str, name: str) -> "IO[bytes]":
        """The file `name` (a/b/c) below an artifact location; OSError or ValueError where it cannot be read."""
        ...


def find() -> Store:
    """The registry that MLFLOW_TRACKING_URI names, or the checkout's own."""
    address = mlflow_runs.uri()
    if address.startswith(("http://", "https://")):
        from plumbline.registry.reader.rest import Server

        return Server(address)
    if address.startswith(("sqlite:///", "postgresql")):
        return Database(address)
    raise RegistryError(
        f"{model_versions.where()}: serving reads a registry at http://, https://, sqlite:/// or postgresql://; "
        "set MLFLOW_TRACKING_URI to one of these"
    )


class Database:
    """A registry in SQLite or PostgreSQL, read by SQL and never written."""

    def __init__(self, address: str) -> None:
        self._engine = _engine(address)

    def version(self, asked: Address) -> Version:
        """See Store."""
        from sqlalchemy import and_, select

        versions, tags, runs = (
            _table("model_versions"),
            _table("model_version_tags"),
            _table("runs"),
        )
        with self._connected() as connection:
            number = asked.version or _holder(connection, asked)
            ours = and_(versions.c.name == asked.name, versions.c.version == int(number))
            here = and_(versions.c.workspace == WORKSPACE, versions.c.current_stage != DELETED)
            row = connection.execute(select(versions).where(ours, here)).mappings().one_or_none()
            if row is None:
                raise absent(asked)
            mine = and_(
                tags.c.name == asked.name,
                tags.c.version == int(number),
                tags.c.workspace == WORKSPACE,
            )
            told = {
                tag.key: tag.value
                for tag in connection.execute(select(tags.c.key, tags.c.value).where(mine))
            }
            run = connection.execute(
                select(runs.c.artifact_uri).where(runs.c.run_uuid == row["run_id"])
            ).scalar()
            return Version(
                asked.name,
                number,
                told,
                row["storage_location"] or _logged(connection, row["source"]),
                run,
            )

    def open(self, location: str, name: str) -> "IO[bytes]":
        """See Store."""
        return artifacts.open_file(location, name)

    @contextmanager
    def _connected(self) -> "Iterator[Connection]":
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            reason = mlflow_runs.first_line(getattr(error, "orig", None) or error)
            raise RegistryError(
                f"{model_versions.where()} cannot be read ({reason}). Try `plumbline doctor`"
            ) from None


def absent(asked: Address) -> RegistryError:
    """What is said of a version that the registry has not."""
    which = (
        f"no version holds the alias {asked.alias}"
        if asked.alias
        else f"there is no version {asked.version}"
    )
    return RegistryError(
        f"{asked.name}: {which} in {model_versions.where()}; train and register one with `dvc repro`"
    )


def _engine(address: str) -> "Engine":
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError
    from sqlalchemy.pool import NullPool

    if address.startswith("sqlite"):
        path = Path(make_url(address).database or "").resolve()

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=TIMEOUT_S)

        return create_engine("sqlite://", creator=connect, poolclass=NullPool)
    limits = {
        "connect_timeout": TIMEOUT_S,
        "options": f"-c default_transaction_read_only=on -c statement_timeout={TIMEOUT_S}s",
    }
    try:
        return create_engine(address, connect_args=limits, poolclass=NullPool)
    except ModuleNotFoundError as error:
        raise RegistryError(
            f"a registry in PostgreSQL needs the package {error.name}; run `make setup`"
        ) from None
    except ArgumentError:
        raise RegistryError("MLFLOW_TRACKING_URI is no database URL") from None


COLUMNS = {
    "model_versions": (
        "name",
        "version",
        "workspace",
        "current_stage",
        "storage_location",
        "source",
        "run_id",
    ),
    "model_version_tags": ("name", "version", "workspace", "key", "value"),
    "registered_model_aliases": ("name", "alias", "workspace", "version"),
    "logged_models": ("model_id", "artifact_location"),
    "runs": ("run_uuid", "artifact_uri"),
}


def _table(name: str) -> "TableClause":
    from sqlalchemy import column, table

    return table(name, *map(column, COLUMNS[name]))


def _holder(connection: "Connection", asked: Address) -> str:
    """The number of the version that holds an alias."""
    from sqlalchemy import select

    aliases = _table("registered_model_aliases")
    ours = (
        aliases.c.name == asked.name,
        aliases.c.alias == asked.alias,
        aliases.c.workspace == WORKSPACE,
    )
    number = connection.execute(select(aliases.c.version).where(*ours)).scalar()
    if number is None:
        raise absent(asked)
    return str(number)


def _logged(connection: "Connection", source: str) -> str:
    """Where a version's package lies that the registry knows by its source alone."""
    from sqlalchemy import select

    models = _table("logged_models")
    ours = models.c.model_id == source.removeprefix("models:/")
    return str(
        connection.execute(select(models.c.artifact_location).where(ours)).scalar() or source
    )
