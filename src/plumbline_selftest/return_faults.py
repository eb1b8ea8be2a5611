"""Faults of any task: what a server wrote of a canary is removed from the journal."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

from plumbline.registry.reader import find_version
from plumbline.registry.reader.addresses import BUNDLE_TAG
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving.canary_return import ReturnRecorder
from plumbline_selftest.protocol import Fault, FaultSite

JOURNAL = "mlruns/journal.db"
CANARY = "2"


def _cut_return(site: FaultSite) -> None:
    """Return the challenger as a server does, then let the journal forget it."""
    name = site.params.registry.model
    bundle = find_version(f"models:/{name}/{CANARY}").tags[BUNDLE_TAG]
    recorder = ReturnRecorder()
    nowhere = Path()
    recorder.add(CachedVersion(name, CANARY, bundle, site.task.name, nowhere, nowhere), "differs")
    asyncio.run(recorder.record())
    with contextlib.closing(sqlite3.connect(JOURNAL)) as connection, connection:
        connection.execute("DELETE FROM plumbline_journal WHERE action = 'return'")


FAULTS = (
    Fault(
        "the return of a canary cut off the journal's end",
        "ends before entry",
        "error",
        _cut_return,
        before="promote",
        until="promote",
    ),
)
