"""One desk for every decision on a model: lock, journal, heads and alias, each read once.

A move is written in this order: the journal gets the entry, then the alias moves, then
champion.json, and at last the registry records the entry's number and seal (its head). If a crash
comes between, the next desk finishes the move. An alias that is anywhere else was changed outside
plumbline, and everything stops until a person has looked.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import JournalIntegrityError, RegistryError
from plumbline.registry import champion_pin, journal, local_files, model_versions
from plumbline.registry.journal import Decision, Entry, Journal
from plumbline.registry.journal_rules import (
    HEAD_TAG,
    NO_CHAMPION,
    find_last_move,
    format_head,
    is_unrecorded,
    require_whole_journal,
)
from plumbline.registry.reader.addresses import BUNDLE_TAG, CHAMPION, describe_registry
from plumbline.tracking import store_errors

if TYPE_CHECKING:
    from mlflow import MlflowClient


class Desk:
    """Registry and journal of one model, in agreement, under the journal's lock."""

    def __init__(self, model: str, client: "MlflowClient", book: Journal) -> None:
        self.model = model
        self.client = client
        self.journal = book.read_entries()  # of all models
        self._book = book

    @property
    def entries(self) -> list[Entry]:
        """The decisions on this model, oldest first."""
        return [entry for entry in self.journal if entry.model == self.model]

    @property
    def champion(self) -> Entry | None:
        """The decision that made the champion."""
        return find_last_move(self.entries)

    def find_registered(self, bundle: str) -> Any | None:
        """Find the last version with this bundle, of those that the journal names if it names one.

        Another is of a `register` that was killed, or made by hand: its files are verified before
        it is promoted or answers.
        """
        named = {entry.version for entry in self.entries if entry.bundle == bundle}
        query = f"name = '{self.model}' and tags.`{BUNDLE_TAG}` = '{bundle}'"
        versions = sorted(self.client.search_model_versions(query), key=lambda v: int(v.version))
        ours = [version for version in versions if str(version.version) in named]
        found = ours or versions
        return found[-1] if found else None

    def move(self, decision: Decision) -> Entry:
        """Write a decision that moves the champion to journal and registry.

        Nothing is written where champion.json is damaged, or knows an entry that the journal lacks.
        """
        if decision.action != "first" and champion_pin.is_checkout():
            pin = champion_pin.read_pins().get(self.model)
            if pin:
                champion_pin.require_decision(self.model, pin, self.journal)
        entry = self._append(decision)
        self._apply(entry)
        return entry

    def note(self, decision: Decision) -> Entry:
        """Append an entry that moves nothing, and record it in the registry.

        A model that the registry does not know is added there, without a version: else nothing
        would show that the entry is missing.
        """
        model_versions.ensure_model(self.client, self.model)
        entry = self._append(decision)
        self.client.set_registered_model_tag(self.model, HEAD_TAG, format_head(entry))
        return entry

    def reconcile(self, *, accept_alias: bool) -> None:
        """Require that journal and registry agree, and finish a move that a crash cut off.

        `accept_alias`: the alias may be anywhere; whoever decides moves it. JournalIntegrityError
        where they disagree, or where the journal lacks an entry that the registry recorded, of any
        model.
        """
        heads = model_versions.read_model_tags(self.client, HEAD_TAG)
        require_whole_journal(self.model, self.journal, heads)
        head = heads.get(self.model)
        if head is None:
            self._require_model()
        last = self.champion
        cut_off = last if last and is_unrecorded(last, head) else None
        holder = model_versions.find_alias_holder(self.client, self.model, CHAMPION)
        alias = str(holder.version) if holder else NO_CHAMPION
        expected = last.version if last else NO_CHAMPION
        if alias == expected or (cut_off and alias == cut_off.previous):
            if cut_off:
                self._apply(cut_off)
        elif not accept_alias:
            raise _build_alias_error(self.model, alias, expected)

    def _append(self, decision: Decision) -> Entry:
        entry = self._book.append(decision)
        self.journal.append(entry)
        return entry

    def _apply(self, move: Entry) -> None:
        """Bring registry and champion.json to the state of the journal, whose last move this is.

        The head is the last: a move without it is not finished. A first champion is not pinned:
        `register` makes it, inside `dvc repro`, which compared with what champion.json said.
        """
        self.client.set_registered_model_alias(self.model, CHAMPION, move.version)
        if move.action != "first" and champion_pin.is_checkout():
            champion_pin.write_pin(self.model, champion_pin.build_pin(move))
        self.client.set_registered_model_tag(self.model, HEAD_TAG, format_head(self.entries[-1]))

    def _require_model(self) -> None:
        versions = [entry.version for entry in self.entries if entry.version]
        if versions and not model_versions.has_model(self.client, self.model):
            raise local_files.build_loss_error(self.model, versions[-1])


@contextmanager
def open_desk(model: str, *, accept_alias: bool = False) -> Iterator[Desk]:
    """Open registry and journal under the journal's lock, once they agree on a model.

    With `accept_alias` the alias `champion` may have been moved outside plumbline.
    """
    from mlflow.exceptions import MlflowException

    with journal.lock_journal() as book:
        try:
            desk = Desk(model, model_versions.connect_registry(), book)
            desk.reconcile(accept_alias=accept_alias)
            yield desk
        except MlflowException as error:
            raise RegistryError(
                f"{describe_registry()} failed ({store_errors.shorten_error(error)}); run the "
                "command again: if the decision is in the journal, that finishes its move"
            ) from None


def _build_alias_error(model: str, alias: str, champion: str) -> JournalIntegrityError:
    back = f"set `champion` back to version {champion}"
    if champion == NO_CHAMPION:
        back = "remove the alias"
    other = "VERSION" if alias == NO_CHAMPION else alias
    return JournalIntegrityError(
        f"{model}: the champion is {champion} in the journal, {alias} in the registry: the alias "
        f"was changed outside plumbline; {back}, then `plumbline promote` asks whether another "
        "may be champion; or accept the change: "
        f"`plumbline promote {model} {other} --expect {champion} --override --reason WHY`"
    )
