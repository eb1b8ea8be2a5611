"""A registry in SQLite or PostgreSQL, read by SQL, without MLflow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

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
    from sqlalchemy import Connection, Engine

# In place of removing a version MLflow writes Deleted_Internal. A package that the registry knows
# by its source alone is a logged model.
VERSION = """
SELECT v.run_id, r.artifact_uri AS run_files,
       COALESCE(NULLIF(v.storage_location, ''), m.artifact_location, v.source, '') AS package
FROM model_versions v
LEFT JOIN logged_models m ON m.model_id = REPLACE(v.source, 'models:/', '')
LEFT JOIN runs r ON r.run_uuid = v.run_id
WHERE v.name = :name AND v.version = :number AND v.workspace = 'default'
      AND v.current_stage != 'Deleted_Internal'
"""
ALIAS = """
SELECT version FROM registered_model_aliases
WHERE name = :name AND alias = :alias AND workspace = 'default'
"""
VERSION_TAGS = """
SELECT key, value FROM model_version_tags
WHERE name = :name AND version = :number AND workspace = 'default'
"""
MODEL_TAG = """
SELECT value FROM registered_model_tags
WHERE name = :name AND key = :key AND workspace = 'default'
"""


class DatabaseStore:
    """A registry in SQLite or PostgreSQL, of which nothing is written."""

    open_artifact = staticmethod(artifacts.open_artifact)

    def __init__(self, uri: str) -> None:
        self._engine = _create_engine(uri)

    def find_version(self, address: VersionAddress) -> RegisteredVersion:
        """Find the version at an address; AbsentVersionError where there is none."""
        from sqlalchemy import text

        with self._connect(address) as connection:
            number = address.number
            if number is None:
                named = {"name": address.name, "alias": address.alias}
                number = connection.scalar(text(ALIAS), named)
            if number is None:
                raise build_absent_error(address)
            wanted = {"name": address.name, "number": int(number)}
            row = connection.execute(text(VERSION), wanted).mappings().first()
            if row is None:
                raise build_absent_error(address)
            rows = connection.execute(text(VERSION_TAGS), wanted)
            tags = {key: value or "" for key, value in rows}
        return RegisteredVersion(name=address.name, number=str(number), tags=tags, **row)

    def read_model_tag(self, address: VersionAddress, key: str) -> str | None:
        """Read a tag of the model at an address; None where it has no such tag."""
        from sqlalchemy import text

        with self._connect(address) as connection:
            value: str | None = connection.scalar(
                text(MODEL_TAG), {"name": address.name, "key": key}
            )
            return value

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
