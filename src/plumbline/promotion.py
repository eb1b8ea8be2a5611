"""Which version is champion, and the only ways to change it: one decision at a time, under the journal's lock.

A decision is written to the journal before the alias moves. If a crash comes between, the next command that takes the
lock finishes the move; an alias that stands anywhere else was moved by other hands, and everything stops until a person
has looked.
"""

from typing import TYPE_CHECKING, Literal

from plumbline import journal, packaging, registry
from plumbline.errors import JournalError, RegistryError
from plumbline.journal import Decision, Entry, Journal
from plumbline.registry import CHAMPION

if TYPE_CHECKING:
    from mlflow import MlflowClient

NONE = "none"
HEAD_TAG = "plumbline.journal"


def first(name: str, version: str) -> Entry | None:
    """Make `version` the champion of a model that has none and never had one; None where there is one already."""
    with journal.opened() as book:
        client = registry.client()
        if _settled(client, book, name) != NONE:
            return None
        return _decide(client, book, name, version, NONE, "first", "registry.first_champion in params.yaml")


def promote(name: str, version: str, expect: str, reason: str) -> Entry:
    """Make `version` champion, if the champion still is `expect` (a version, or "none").

    Raises RegistryError where it is another, BundleError where the version's files are not what was registered.
    """
    packaging.load(f"models:/{name}/{version}")
    with journal.opened() as book:
        client = registry.client()
        current = _settled(client, book, name)
        if current != expect:
            raise RegistryError(
                f"{name}: the champion is {current}, not {expect}; nothing was changed. "
                f"Look at `plumbline journal {name}`, then decide again"
            )
        if current == version:
            raise RegistryError(f"{name}: version {version} is the champion already")
        return _decide(client, book, name, version, current, "promote", reason)


def rollback(name: str, to: str | None, reason: str) -> Entry:
    """Bring back the champion before this one, or version `to`, which must have been champion once."""
    with journal.opened() as book:
        client = registry.client()
        current = _settled(client, book, name)
        entries = book.entries(name)
        version = to or next((entry.previous for entry in reversed(entries) if entry.version == current), NONE)
        if version == NONE:
            raise RegistryError(f"{name}: there is no champion before {current} to go back to")
        if version not in [entry.version for entry in entries]:
            raise RegistryError(f"{name}: version {version} never was champion; it takes `plumbline promote`")
        packaging.load(f"models:/{name}/{version}")
        return _decide(client, book, name, version, current, "rollback", reason)


def history(name: str) -> list[Entry]:
    """All decisions on the model, oldest first, chain and head checked."""
    with journal.opened() as book:
        _settled(registry.client(), book, name)
        return book.entries(name)


def champion(name: str, as_of: str | None) -> Entry | None:
    """The decision that made the champion, now or at the end of the day or moment `as_of` (ISO 8601, UTC)."""
    until = as_of if as_of is None or "T" in as_of else f"{as_of}T23:59:59+00:00"
    made = [entry for entry in history(name) if entry.version and (until is None or entry.at <= until)]
    return made[-1] if made else None


def _decide(
    client: "MlflowClient",
    book: Journal,
    name: str,
    version: str,
    previous: str,
    action: Literal["first", "promote", "rollback"],
    reason: str,
) -> Entry:
    tags = registry.resolve(f"models:/{name}/{version}").tags
    bundle, evidence = tags.get(registry.BUNDLE_TAG, ""), tags.get("plumbline.evidence", "")
    entry = book.append(Decision(name, action, version, previous, bundle, evidence, reason))
    _follow(client, name, entry)
    return entry


def _settled(client: "MlflowClient", book: Journal, name: str) -> str:
    """The champion's version, or "none", once journal and registry agree and a crash's half move was finished."""
    entries = book.entries(name)
    _refuse_cut_journal(client, name, entries)
    moves = [entry for entry in entries if entry.version]
    holder = registry.holder(client, name, CHAMPION)
    stands = str(holder.version) if holder else NONE
    if not moves:
        if holder:
            raise JournalError(f"{name}: version {stands} is champion, but no decision made it so; see docs/operate.md")
        return NONE
    last = moves[-1]
    if stands == last.previous and stands != last.version:
        _follow(client, name, last)
    elif stands != last.version:
        raise JournalError(
            f"{name}: the journal says that version {last.version} is champion, the registry says {stands}: "
            "the alias was moved by other hands. Set it back to the version of the journal"
        )
    return last.version


def _follow(client: "MlflowClient", name: str, entry: Entry) -> None:
    """Bring the registry to where the journal stands."""
    client.set_registered_model_tag(name, HEAD_TAG, f"{entry.number}:{entry.seal}")
    client.set_registered_model_alias(name, CHAMPION, entry.version)


def _refuse_cut_journal(client: "MlflowClient", name: str, entries: list[Entry]) -> None:
    """Compare with the last entry that the registry was told of: a chain does not show that its end is missing."""
    models = client.search_registered_models(f"name = '{name}'")
    head = models[0].tags.get(HEAD_TAG) if models else None
    if head and head not in [f"{entry.number}:{entry.seal}" for entry in entries]:
        raise JournalError(f"{name}: the journal ends before entry {head.partition(':')[0]}; restore it from a backup")
