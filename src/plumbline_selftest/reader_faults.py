"""Faults that whoever loads a champion must notice, planted past the commands that decide."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

from plumbline.registry import model_versions
from plumbline.registry.journal import Decision
from plumbline.registry.reader import addresses
from plumbline.registry.reconciliation import apply_to_registry, lock_decisions
from plumbline_selftest.protocol import Fault, FaultSite

JOURNAL = Path("mlruns/journal.db")
FORMER, CHAMPION = "1", "2"


def _roll_back_to_exchanged_files(site: FaultSite) -> None:
    """Give the former champion other digests, and write a rollback to it that checks nothing."""
    name = site.params.registry.model
    with lock_decisions() as (client, book):
        tags = client.get_model_version(name, CHAMPION).tags
        for key in (addresses.BUNDLE_TAG, addresses.EVIDENCE_TAG):
            client.set_model_version_tag(name, FORMER, key, tags[key])
        digests = (tags[addresses.BUNDLE_TAG], tags[addresses.EVIDENCE_TAG])
        entry = book.append(Decision(name, "rollback", FORMER, CHAMPION, *digests, "selftest"))
        apply_to_registry(client, entry, entry)


def _move_alias(site: FaultSite) -> None:
    client = model_versions.connect_registry()
    client.set_registered_model_alias(site.params.registry.model, addresses.CHAMPION, FORMER)


def _edit_journal(statement: str) -> Callable[[FaultSite], None]:
    """Return what changes the journal, and moves the alias to what it then says."""

    def plant(site: FaultSite) -> None:
        _move_alias(site)
        with contextlib.closing(sqlite3.connect(JOURNAL)) as connection, connection:
            connection.execute(statement)

    return plant


def _build_load_fault(name: str, message: str, plant: Callable[[FaultSite], None]) -> Fault:
    return Fault(name, message, "error", plant, before="load", until="load")


FAULTS = (
    _build_load_fault(
        "a rollback to exchanged files", "not what journal entry", _roll_back_to_exchanged_files
    ),
    _build_load_fault(
        "an alias moved outside plumbline", "the journal of decisions made", _move_alias
    ),
    _build_load_fault(
        "a promotion cut off the journal",
        "ends before entry",
        _edit_journal("DELETE FROM plumbline_journal WHERE previous = '1'"),
    ),
    _build_load_fault(
        "a promotion edited in the journal",
        "integrity check failed",
        _edit_journal("UPDATE plumbline_journal SET version = '1' WHERE previous = '1'"),
    ),
    _build_load_fault(
        "a journal without its table",
        "journal cannot be read",
        _edit_journal("DROP TABLE plumbline_journal"),
    ),
)
