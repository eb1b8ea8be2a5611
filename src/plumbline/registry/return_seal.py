"""Seal what a server writes into the journal: it has no MLflow, and writes nothing but returns."""

from plumbline.registry import journal
from plumbline.registry.journal_head import (
    HEAD_TAG,
    format_head,
    parse_head,
    require_whole_journal,
)
from plumbline.registry.reader.addresses import CHAMPION, parse_address
from plumbline.registry.reader.stores import connect_store


def seal_returns(model: str) -> None:
    """Record the end of the journal in the registry, where only returns follow what it recorded.

    Any other entry is left to the command that wrote it, or to the one that finishes it.
    JournalIntegrityError where the journal lacks what the registry recorded, or that is damaged,
    RegistryError where it cannot be written.
    """
    store = connect_store()
    address = parse_address(f"models:/{model}@{CHAMPION}")
    with journal.lock_journal() as book:
        entries = book.read_entries(model)
        head = store.read_model_tag(address, HEAD_TAG)
        require_whole_journal(model, entries, {model: head})
        recorded = 0 if head is None else parse_head(model, head)
        later = [entry for entry in entries if entry.number > recorded]
        if later and all(entry.action == "return" for entry in later):
            store.write_model_tag(address, HEAD_TAG, format_head(later[-1]))
