"""Registry and journal as they are. Reading them repairs, creates and changes nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plumbline.registry import journal, journal_head, model_versions
from plumbline.registry.journal import Entry
from plumbline.registry.journal_rules import find_last_move
from plumbline.registry.reader import addresses
from plumbline.tracking import store_location

if TYPE_CHECKING:
    from mlflow import MlflowClient


@dataclass(frozen=True)
class RegistryState:
    """What plumbline registered and decided, without the models of others in the registry."""

    client: "MlflowClient"
    models: dict[str, Any]  # by name
    versions: list[Any]
    entries: list[Entry]  # of the journal, unchecked

    def list_bundles(self) -> dict[tuple[str, str], str | None]:
        """The bundle digest that each version is tagged with, by name and version."""
        bundles = {}
        for version in self.versions:
            digest = version.tags.get(addresses.BUNDLE_TAG)
            bundles[version.name, str(version.version)] = digest
        return bundles

    def find_last_move(self, name: str) -> Entry | None:
        """The decision that made the champion of a model."""
        return find_last_move([entry for entry in self.entries if entry.model == name])


def load_state() -> RegistryState | None:
    """Registry and journal, or None where there is no registry yet; no file is created."""
    if store_location.is_missing(store_location.find_uri()):
        return None
    client = model_versions.connect_registry()
    models = {model.name: model for model in list_all(client.search_registered_models)}
    entries = _read_unchecked_entries()
    versions: list[Any] = []
    for name in sorted(models):
        versions += list_all(client.search_model_versions, f"name = '{name}'")
    own_names = _list_own_models(models, versions, entries)
    return RegistryState(
        client,
        {name: model for name, model in models.items() if name in own_names},
        sorted(
            (version for version in versions if version.name in own_names),
            key=lambda version: (version.name, int(version.version)),
        ),
        entries,
    )


def list_all(search: Callable[..., Any], *query: Any) -> list[Any]:
    """The results of all pages of a search."""
    page = search(*query)
    results = list(page)
    while page.token:
        page = search(*query, page_token=page.token)
        results += page
    return results


def _list_own_models(models: dict[str, Any], versions: list[Any], entries: list[Entry]) -> set[str]:
    """The names of the models in which plumbline registered or decided something."""
    names = {entry.model for entry in entries}
    for version in versions:
        if addresses.BUNDLE_TAG in version.tags:
            names.add(version.name)
    for name, model in models.items():
        if journal_head.HEAD_TAG in model.tags:
            names.add(name)
    return names


def _read_unchecked_entries() -> list[Entry]:
    if store_location.is_missing(journal.find_journal_uri()):
        return []
    with journal.read_journal() as book:
        return book.read_unchecked_entries() if book.has_table() else []
