"""Write model versions and aliases in MLflow: one version for one bundle.

Versions are opened without MLflow: see `plumbline.registry.reader`.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import RegistryError
from plumbline.registry import version_description
from plumbline.registry.reader.addresses import BUNDLE_TAG, GOLDEN_TAG, describe_registry
from plumbline.tracking import mlflow_client, store_errors, store_location

if TYPE_CHECKING:
    from mlflow import MlflowClient

    from plumbline.registry.journal import Entry

NO_MODEL = "name = ''"  # MLflow would read all versions of a model that it finds
log = logging.getLogger(__name__)


def connect_registry() -> "MlflowClient":
    """Connect a client and reach its store once. RegistryError says what to do if that fails."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        client = mlflow_client.connect()
        client.search_registered_models(NO_MODEL, max_results=1)
    except (MlflowException, SQLAlchemyError, ModuleNotFoundError, OSError) as error:
        reason = store_location.find_problem() or store_errors.shorten_error(error)
        raise RegistryError(
            f"{describe_registry()} cannot be used ({reason}); nothing was changed. "
            "Try `plumbline doctor`"
        ) from None
    return client


def find_with_bundle(
    client: "MlflowClient", name: str, numbers: Sequence[str], bundle: str
) -> Any | None:
    """Find the last of the versions `numbers` that exists and is tagged with this bundle."""
    versions = client.search_model_versions(f"name = '{name}' and tags.`{BUNDLE_TAG}` = '{bundle}'")
    by_number = {str(version.version): version for version in versions}
    present = [number for number in numbers if number in by_number]
    return by_number[present[-1]] if present else None


def has_model(client: "MlflowClient", name: str) -> bool:
    """Whether the registry knows a model of this name."""
    return bool(client.search_registered_models(f"name = '{name}'"))


def ensure_model(client: "MlflowClient", name: str) -> None:
    """Add the model `name` without a version, where the registry does not know it."""
    from mlflow.exceptions import MlflowException

    if has_model(client, name):
        return
    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


def read_model_tags(client: "MlflowClient", key: str) -> dict[str, str]:
    """Read a tag of every model that has it, by the model's name."""
    tags: dict[str, str] = {}
    token = None
    while True:
        page = client.search_registered_models(f"tags.`{key}` LIKE '%'", page_token=token)
        tags.update({model.name: model.tags[key] for model in page if key in model.tags})
        token = page.token
        if not token:
            return tags


def add_version(
    client: "MlflowClient",
    name: str,
    info: Any,
    tags: Mapping[str, str],
    card: str = "",
) -> Any:
    """Register the logged model `info` as a new version of `name`, its tags set in the same write.

    The digest of the golden rows that are in its package becomes a tag as well; the model card
    becomes the description.
    """
    ensure_model(client, name)
    tags = {**tags, GOLDEN_TAG: info.metadata[GOLDEN_TAG]}
    description = version_description.build_description(card)
    with mlflow_client.send_once():
        return client.create_model_version(
            name, info.model_uri, info.run_id, tags, None, description, model_id=info.model_id
        )


def note_decision(client: "MlflowClient", entry: "Entry") -> None:
    """Add a decision to the description of the version that it made champion, for people to read.

    Decisions are read from the journal: a failure here is logged, and the decision is valid.
    """
    from mlflow.exceptions import MlflowException

    reason = " ".join(entry.reason.replace("`", "'").split()) or "no reason"
    line = (
        f"- {entry.at[:10]}: {entry.action} {entry.previous} -> {entry.version} "
        f"by `{entry.actor}`, journal entry {entry.number}: `{reason}`"
    )
    try:
        before = client.get_model_version(entry.model, entry.version).description or ""
        after = version_description.add_decision(before, line)
        client.update_model_version(entry.model, entry.version, after)
    except MlflowException as error:
        failure = store_errors.shorten_error(error)
        log.warning("the description of version %s is as it was (%s)", entry.version, failure)


def find_alias_holder(client: "MlflowClient", name: str, alias: str) -> Any | None:
    """Find the version that holds `alias`, or None; any other failure is an error."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version_by_alias(name, alias)
    except MlflowException as error:
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            return None
        raise RegistryError(f"{name}@{alias}: {store_errors.shorten_error(error)}") from None
