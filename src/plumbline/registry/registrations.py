"""One version for one bundle: found, or added under the journal's lock."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plumbline.registry import model_versions
from plumbline.registry.journal import Decision, Journal
from plumbline.registry.reconciliation import append_entry, lock_decisions, reconcile

if TYPE_CHECKING:
    from mlflow import MlflowClient


def find_registered_version(name: str, bundle: str) -> Any | None:
    """Find the version with this bundle that the journal says was registered.

    A version of that bundle that somebody else made is none of ours, whatever its tags say.
    """
    with lock_decisions() as (client, book):
        reconcile(client, book, name)
        return _find_registered(client, book, name, bundle)


def register_version(
    name: str, bundle: str, evidence: str, reason: str, add: Callable[[], Any]
) -> tuple[Any, bool]:
    """Let `add` make a version and record it, unless another checkout registered the bundle first.

    Return the version, and whether `add` made it.
    """
    with lock_decisions() as (client, book):
        reconcile(client, book, name)
        version = _find_registered(client, book, name, bundle)
        if version is not None:
            return version, False
        version = add()
        number = str(version.version)
        decision = Decision(name, "registered", number, "", bundle, evidence, reason)
        append_entry(client, book, decision)
        return version, True


def _find_registered(client: "MlflowClient", book: Journal, name: str, bundle: str) -> Any | None:
    numbers = []
    for entry in book.read_entries(name):
        is_registration = entry.moves or entry.action in ("registered", "keep")
        if is_registration and entry.bundle == bundle:
            numbers.append(entry.version)
    return model_versions.find_with_bundle(client, name, numbers, bundle)
