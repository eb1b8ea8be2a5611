"""Model versions and aliases in the MLflow registry: one version for one bundle, however often it is asked for."""

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import BundleError, ParamsError, RegistryError
from plumbline.tracking import mlflow_runs

if TYPE_CHECKING:
    from mlflow import MlflowClient

BUNDLE_TAG, EVIDENCE_TAG, GOLDEN_TAG = "plumbline.bundle", "plumbline.evidence", "plumbline.golden"
CHAMPION, CHALLENGER = "champion", "challenger"
CONNECT_TIMEOUT_S = 10
NAME, VERSION = (
    r"[A-Za-z][A-Za-z0-9_-]{0,59}",
    r"[1-9][0-9]{0,8}",
)  # as in params.yaml; no path, no option, no shell


@dataclass(frozen=True)
class Address:
    """A model in the registry, and which of its versions: that of an alias, or one by its number."""

    name: str
    alias: str | None
    version: str | None


def parse(uri: str) -> Address:
    """What `models:/NAME@ALIAS` or `models:/NAME/VERSION` says. ParamsError for anything else."""
    found = re.fullmatch(rf"models:/({NAME})(?:@({NAME})|/({VERSION}))", uri, re.ASCII)
    if not found:
        raise ParamsError(
            f"{uri[:100]!r} names no registered model; expected models:/NAME@ALIAS, such as "
            "models:/ticket-router@champion, or models:/NAME/VERSION, such as models:/ticket-router/3"
        )
    return Address(*found.groups())


def client() -> "MlflowClient":
    """A client whose store was reached. RegistryError says what to do where it was not."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        _reach_database()
        found = mlflow_runs.connect()
        found.search_registered_models(max_results=1)
    except (MlflowException, SQLAlchemyError, ModuleNotFoundError, OSError) as error:
        reason = mlflow_runs.first_line(error)
        raise RegistryError(
            f"{where()} cannot be used ({reason}); nothing was changed. Try `plumbline doctor`"
        ) from None
    return found


def find(client: "MlflowClient", name: str, bundle: str) -> Any | None:
    """The version of `name` whose bundle has this digest, or None."""
    found = client.search_model_versions(f"name = '{name}' and tags.`{BUNDLE_TAG}` = '{bundle}'")
    return min(found, key=lambda version: int(version.version), default=None)


def add(client: "MlflowClient", name: str, info: Any, tags: Mapping[str, str]) -> Any:
    """Register the logged model `info` as a new version of `name`, its tags set in the same write.

    The digest of the golden rows that are in its package becomes a tag as well.
    """
    from mlflow.exceptions import MlflowException

    if not client.search_registered_models(f"name = '{name}'"):
        try:
            client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
    tags = {**tags, GOLDEN_TAG: info.metadata[GOLDEN_TAG]}
    return client.create_model_version(
        name, info.model_uri, info.run_id, tags, model_id=info.model_id
    )


def holder(client: "MlflowClient", name: str, alias: str) -> Any | None:
    """The version that holds `alias`, or None; any other failure is an error, never an absence."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version_by_alias(name, alias)
    except MlflowException as error:
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            return None
        raise RegistryError(f"{name}@{alias}: {mlflow_runs.first_line(error)}") from None


def resolve(uri: str) -> Any:
    """The version that `models:/NAME@ALIAS` or `models:/NAME/VERSION` names. RegistryError where there is none."""
    from mlflow.exceptions import MlflowException

    asked = parse(uri)
    found = client()
    try:
        if asked.alias:
            return found.get_model_version_by_alias(asked.name, asked.alias)
        return found.get_model_version(asked.name, asked.version)
    except MlflowException as error:
        raise RegistryError(
            f"{uri}: {mlflow_runs.first_line(error)}; train and register one with `dvc repro`"
        ) from None


def evidence(version: Any) -> dict[str, Any]:
    """What evidence.json of the version's run says. BundleError where it is not the file that was registered."""
    from mlflow.exceptions import MlflowException

    client, name = mlflow_runs.connect(), layout.EVIDENCE.name
    changed = (
        f"{version.name} version {version.version}: its evidence was changed since it was registered "
        f"({name} of run {version.run_id} {{}}); restore it from a backup, do not use the version"
    )
    try:
        with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
            if name not in [file.path for file in client.list_artifacts(version.run_id)]:
                raise BundleError(changed.format("is missing"))
            path = Path(client.download_artifacts(version.run_id, name, private))
            if layout.digest(path) != version.tags.get(EVIDENCE_TAG):
                raise BundleError(changed.format("has another digest"))
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (MlflowException, OSError) as error:
        raise RegistryError(
            f"{version.name} version {version.version}: its evidence cannot be fetched ({mlflow_runs.first_line(error)})"
        ) from None
    return found


def where() -> str:
    """The registry's address, fit to be shown: without its password."""
    return re.sub(r"(://[^/:@]*):[^/]*@", r"\1:***@", mlflow_runs.uri())


def _reach_database() -> None:
    """Connect once: MLflow would try for minutes where a database is away."""
    if mlflow_runs.uri().startswith("postgresql"):
        from sqlalchemy import create_engine

        engine = create_engine(
            mlflow_runs.uri(), connect_args={"connect_timeout": CONNECT_TIMEOUT_S}
        )
        engine.connect().close()
        engine.dispose()
