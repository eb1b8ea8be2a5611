"""One version for one bundle: found, or added under the journal's lock."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plumbline.registry import model_versions
from plumbline.registry.journal import Decision, Journal
from plumbline.registry.reconciliation import append_entry, lock_decisions, reconcile
from plumbline.registry.unfinished_registration import (
    UnfinishedRegistration,
    find_added_version,
    forget_registration,
    note_registration,
    read_note,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient


def find_registered_version(name: str, bundle: str) -> Any | None:
    """Find the version with this bundle that the journal says was registered.

    A version of that bundle that somebody else made is none of ours, whatever its tags say. One
    that this checkout added, and was stopped before the journal had it, is entered there now.
    """
    with lock_decisions() as (client, book):
        reconcile(client, book, name)
        return _find_registered(client, book, name, bundle)


def register_version(
    registration: UnfinishedRegistration, add: Callable[[], Any]
) -> tuple[Any, bool]:
    """Let `add` make a version and record it, unless another checkout registered the bundle first.

    Return the version, and whether `add` made it.
    """
    name, bundle = registration.model, registration.bundle
    with lock_decisions() as (client, book):
        reconcile(client, book, name)
        version = _find_registered(client, book, name, bundle)
        if version is not None:
            return version, False
        note_registration(registration)
        version = add()
        _record(client, book, registration, version)
        return version, True


def _record(
    client: "MlflowClient", book: Journal, registration: UnfinishedRegistration, version: Any
) -> None:
    decision = Decision(
        registration.model,
        "registered",
        str(version.version),
        "",
        registration.bundle,
        registration.evidence,
        registration.reason,
    )
    append_entry(client, book, decision)
    forget_registration()


def _find_registered(client: "MlflowClient", book: Journal, name: str, bundle: str) -> Any | None:
    numbers = []
    for entry in book.read_entries(name):
        is_registration = entry.moves or entry.action in ("registered", "keep")
        if is_registration and entry.bundle == bundle:
            numbers.append(entry.version)
    version = model_versions.find_with_bundle(client, name, numbers, bundle)
    if version is None:
        return _finish_registration(client, book, name, bundle)
    if read_note(name, bundle):  # of a run that was stopped after the journal had the version
        forget_registration()
    return version


def _finish_registration(
    client: "MlflowClient", book: Journal, name: str, bundle: str
) -> Any | None:
    """Return the version that an earlier run added and did not record, and record it; or None."""
    noted = read_note(name, bundle)
    version = find_added_version(client, noted) if noted else None
    if noted and version:
        _record(client, book, noted, version)
    return version
