"""Model versions and aliases in the MLflow registry: one version for one bundle, however often it is asked for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plumbline import tracking
from plumbline.errors import RegistryError

if TYPE_CHECKING:
    from mlflow import MlflowClient

BUNDLE_TAG = "plumbline.bundle"
CHAMPION, CHALLENGER = "champion", "challenger"


def client() -> "MlflowClient":
    """A client whose store was reached. RegistryError says what to do where it was not."""
    from mlflow.exceptions import MlflowException

    try:
        found = tracking.connect()
        found.search_registered_models(max_results=1)
    except (MlflowException, OSError) as error:
        reason = tracking.first_line(error)
        raise RegistryError(
            f"{tracking.uri()} cannot be used ({reason}); nothing was changed. Try `plumbline doctor`"
        ) from None
    return found


def find(client: "MlflowClient", name: str, bundle: str) -> Any | None:
    """The version of `name` whose bundle has this digest, or None."""
    found = client.search_model_versions(f"name = '{name}' and tags.`{BUNDLE_TAG}` = '{bundle}'")
    return min(found, key=lambda version: int(version.version), default=None)


def add(client: "MlflowClient", name: str, info: Any, tags: Mapping[str, str]) -> Any:
    """Register the logged model `info` as a new version of `name`, its tags set in the same write."""
    from mlflow.exceptions import MlflowException

    if not client.search_registered_models(f"name = '{name}'"):
        try:
            client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
    return client.create_model_version(name, info.model_uri, info.run_id, dict(tags), model_id=info.model_id)


def holder(client: "MlflowClient", name: str, alias: str) -> Any | None:
    """The version that holds `alias`, or None; any other failure is an error, never an absence."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version_by_alias(name, alias)
    except MlflowException as error:
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            return None
        raise RegistryError(f"{name}@{alias}: {tracking.first_line(error)}") from None


def resolve(uri: str) -> Any:
    """The version that `models:/NAME@ALIAS` or `models:/NAME/VERSION` names. RegistryError where there is none."""
    from mlflow.exceptions import MlflowException

    found = client()
    name, at, alias = uri.removeprefix("models:/").partition("@")
    name, _, version = name.partition("/")
    try:
        return found.get_model_version_by_alias(name, alias) if at else found.get_model_version(name, version)
    except MlflowException as error:
        raise RegistryError(f"{uri}: {tracking.first_line(error)}; train and register one with `dvc repro`") from None
