"""Keep journal and registry in agreement: first the journal, then the alias, then champion.json.

Before that the registry records the move that is about to be written, and at last the entry's
number and seal (its head). If a crash comes between, the next command that takes the lock finishes
the move, if it was announced and would be made again: an entry that somebody appended to the
journal is not finished. An alias that is anywhere else was changed outside plumbline, and
everything stops until a person has looked.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from plumbline.contract.errors import AliasMovedError, RegistryError
from plumbline.registry import (
    champion_pin,
    journal,
    lost_models,
    model_versions,
    promotion_checks,
)
from plumbline.registry.journal import Decision, Entry, Journal
from plumbline.registry.journal_head import (
    HEAD_TAG,
    INTENT_TAG,
    format_head,
    format_intent,
    is_intended,
    parse_head,
    require_whole_journal,
)
from plumbline.registry.journal_rules import (
    NO_CHAMPION,
    build_forgery_error,
    find_last_move,
    verify_recorded_move,
)
from plumbline.registry.reader.addresses import CHAMPION, describe_registry
from plumbline.tracking import store_errors

if TYPE_CHECKING:
    from mlflow import MlflowClient


@contextmanager
def lock_decisions() -> Iterator[tuple["MlflowClient", Journal]]:
    """Open registry and journal, under the journal's lock."""
    from mlflow.exceptions import MlflowException

    with journal.lock_journal() as book:
        try:
            yield model_versions.connect_registry(), book
        except MlflowException as error:
            raise RegistryError(
                f"{describe_registry()} failed ({store_errors.shorten_error(error)}); run the "
                "command again: if the decision is in the journal, that finishes its move"
            ) from None


def reconcile(client: "MlflowClient", book: Journal, name: str) -> Entry | None:
    """Return the entry that made the champion, once journal and registry agree; None without one.

    Finishes a move that a crash cut off; JournalIntegrityError where they disagree for any other
    reason, or where the journal lacks an entry that the registry recorded, of any model.
    """
    everything = book.read_entries()
    heads = model_versions.read_model_tags(client, HEAD_TAG)
    require_whole_journal(name, everything, heads)
    entries = [entry for entry in everything if entry.model == name]
    head = heads.get(name)
    if head is None:
        versions = [entry.version for entry in entries if entry.version]
        is_known = model_versions.has_model(client, name)
        lost_models.require_model(name, versions[-1] if versions else None, is_known=is_known)
    holder = model_versions.find_alias_holder(client, name, CHAMPION)
    champion = str(holder.version) if holder else NO_CHAMPION
    last = find_last_move(entries)
    if last is None:
        if holder:
            raise AliasMovedError(
                f"{name}: version {champion} is champion, but no decision made it so; "
                f"remove the alias, or `plumbline adopt {name}` (see `plumbline docs operate`)",
                champion,
            )
        return None
    if not is_unrecorded(last, head):
        if champion != last.version:
            raise _build_alias_error(last, champion)
        return last
    intent = model_versions.read_model_tags(client, INTENT_TAG).get(name)
    if not is_intended(last, intent):
        raise build_forgery_error(
            last,
            "the registry was not told before that it would come (or the registry was restored "
            f"from an older backup: then restore it to at least entry {last.number})",
        )
    if champion not in (last.previous, last.version):
        raise _build_alias_error(last, champion)
    _require_sound_move(last, entries)
    apply_to_registry(client, last, entries[-1])
    return last


def write_move(client: "MlflowClient", book: Journal, decision: Decision) -> Entry:
    """Write a decision that moves the champion: announced first, then journal and registry."""
    entries = book.read_entries()
    intent = format_intent(decision, entries[-1] if entries else None)
    client.set_registered_model_tag(decision.model, INTENT_TAG, intent)
    entry = book.append(decision)
    apply_to_registry(client, entry, entry)
    return entry


def append_entry(client: "MlflowClient", book: Journal, decision: Decision) -> Entry:
    """Append an entry that moves nothing, and record it in the registry.

    A model that the registry does not know is added there, without a version: else nothing would
    show that the entry is missing.
    """
    model_versions.ensure_model(client, decision.model)
    entry = book.append(decision)
    client.set_registered_model_tag(decision.model, HEAD_TAG, format_head(entry))
    return entry


def apply_to_registry(client: "MlflowClient", move: Entry, last: Entry) -> None:
    """Bring registry and champion.json to the state of the journal: its last move, its last entry.

    The head is the last: a move without it is not finished. A first champion is not pinned:
    `register` makes it, inside `dvc repro`, which compared with what champion.json said.
    """
    client.set_registered_model_alias(move.model, CHAMPION, move.version)
    if move.action != "first" and champion_pin.is_checkout():
        champion_pin.write_pin(move.model, champion_pin.build_pin(move))
    client.set_registered_model_tag(last.model, HEAD_TAG, format_head(last))


def is_unrecorded(move: Entry, head: str | None) -> bool:
    """Whether a crash came between journal and registry, or somebody appended to the journal.

    The last `move` of the journal is newer than `head`, the last entry that the registry recorded.
    JournalIntegrityError where the head is damaged.
    """
    return head is None or parse_head(move.model, head) < move.number


def _build_alias_error(last: Entry, champion: str) -> AliasMovedError:
    return AliasMovedError(
        f"{last.model}: the journal says that version {last.version} is champion, the registry "
        f"says {champion}: the alias was changed outside plumbline; set `champion` back to version "
        f"{last.version} (see the journal), or let `plumbline adopt {last.model}` check the move",
        champion,
    )


def _require_sound_move(move: Entry, entries: list[Entry]) -> None:
    """Require that plumbline would write this move again.

    JournalIntegrityError where the entries before it forbid it; what `promote` raises where files,
    evidence, verdict or signature do.
    """
    earlier = [entry for entry in entries if entry.number < move.number]
    verify_recorded_move(move, earlier)
    promotion_checks.require_grounds(move, earlier)
