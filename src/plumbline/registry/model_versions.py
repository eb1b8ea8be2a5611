"""Write versions and aliases in MLflow: one version for one bundle.

Versions are opened without MLflow: see `plumbline.registry.reader`.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import RegistryError
from plumbline.registry.reader.addresses import GOLDEN_TAG, describe_registry
from plumbline.tracking import mlflow_client, store_errors

if TYPE_CHECKING:
    from mlflow import MlflowClient

# A table of MLflow's holds so much: PostgreSQL refuses more, SQLite does not.
MAX_DESCRIPTION = 5000  # characters
CUT = "\n\n(The rest of the card is in `model_card.md` of the package.)\n"
NO_MODEL = "name = ''"  # MLflow would read all versions of a model that it finds


def connect_registry() -> "MlflowClient":
    """Connect a client and reach its store once. RegistryError says what to do if that fails."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        client = mlflow_client.connect()
        client.search_registered_models(NO_MODEL, max_results=1)
    except (MlflowException, SQLAlchemyError, ModuleNotFoundError, OSError) as error:
        reason = store_errors.shorten_error(error)
        raise RegistryError(
            f"{describe_registry()} cannot be used ({reason}); nothing was changed. "
            "Try `plumbline doctor`"
        ) from None
    return client


def has_model(client: "MlflowClient", name: str) -> bool:
    """Whether the registry knows a model of this name."""
    return bool(client.search_registered_models(f"name = '{name}'"))


def ensure_model(client: "MlflowClient", name: str) -> None:
    """Add the model `name` without a version, where the registry does not know it."""
    if not has_model(client, name):
        client.create_registered_model(name)


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
    client: "MlflowClient", name: str, info: Any, tags: Mapping[str, str], card: str
) -> Any:
    """Register the logged model `info` as a new version of `name`, its tags set in the same write.

    The digest of the golden rows that are in its package becomes a tag as well; the model card
    becomes the description.
    """
    ensure_model(client, name)
    tags = {**tags, GOLDEN_TAG: info.metadata[GOLDEN_TAG]}
    description = build_description(card)
    with mlflow_client.send_once():
        return client.create_model_version(
            name, info.model_uri, info.run_id, tags, None, description, model_id=info.model_id
        )


def build_description(card: str) -> str:
    """Return a model card as the description of a version: without its YAML, cut if too long."""
    card = re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL)
    if len(card) <= MAX_DESCRIPTION:
        return card
    fitting = card[: MAX_DESCRIPTION - len(CUT)]
    return (fitting.rpartition("\n")[0] or fitting) + CUT


def find_alias_holder(client: "MlflowClient", name: str, alias: str) -> Any | None:
    """Find the version that holds `alias`, or None; any other failure is an error."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version_by_alias(name, alias)
    except MlflowException as error:
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            return None
        raise RegistryError(f"{name}@{alias}: {store_errors.shorten_error(error)}") from None
