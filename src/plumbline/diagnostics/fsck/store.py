"""Registry and journal as they stand. Nothing in them is healed, made or changed by looking."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.registry import journal, model_versions, promotion
from plumbline.registry.journal import Entry
from plumbline.tracking import mlflow_runs

if TYPE_CHECKING:
    from mlflow import MlflowClient


@dataclass(frozen=True)
class Store:
    """What plumbline registered and decided, and nothing of others in the same registry."""

    client: "MlflowClient"
    models: dict[str, Any]  # by name
    versions: list[Any]
    entries: list[Entry]  # of the journal, unchecked

    def bundles(self) -> dict[tuple[str, str], str | None]:
        """The digest that each version is tagged with, by name and version."""
        return {
            (v.name, str(v.version)): v.tags.get(model_versions.BUNDLE_TAG) for v in self.versions
        }

    def last_move(self, name: str) -> Entry | None:
        """The decision that made the champion of a model."""
        moves = [entry for entry in self.entries if entry.model == name and entry.moves]
        return moves[-1] if moves else None


def opened() -> Store | None:
    """Registry and journal, or None where there is none yet: looking makes no files."""
    if (
        mlflow_runs.uri().startswith("sqlite:///")
        and not Path(mlflow_runs.uri().removeprefix("sqlite:///")).exists()
    ):
        return None
    client = model_versions.client()
    models = {model.name: model for model in pages(client.search_registered_models)}
    entries = _unchecked_entries()
    versions = [
        version
        for name in sorted(models)
        for version in pages(client.search_model_versions, f"name = '{name}'")
    ]
    ours = {version.name for version in versions if model_versions.BUNDLE_TAG in version.tags} | {
        e.model for e in entries
    }
    ours |= {name for name, model in models.items() if promotion.HEAD_TAG in model.tags}
    return Store(
        client,
        {name: model for name, model in models.items() if name in ours},
        sorted((v for v in versions if v.name in ours), key=lambda v: (v.name, int(v.version))),
        entries,
    )


def pages(search: Callable[..., Any], *query: Any) -> list[Any]:
    """All pages of a search."""
    page = search(*query)
    found = list(page)
    while page.token:
        page = search(*query, page_token=page.token)
        found += page
    return found


def _unchecked_entries() -> list[Entry]:
    uri = journal.uri()
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).exists():
        return []
    with journal.opened() as book:
        return book.unchecked()
