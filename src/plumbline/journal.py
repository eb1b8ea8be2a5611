"""Every decision on a model, in the order it was made: append-only, each entry sealed by the hash of the one before.

The chain shows edits, deletions and reordering; a cut-off end shows against the head that the registry keeps.
The journal is one table: in a SQLite file beside a local registry, in the same database as one on PostgreSQL.
"""

import fcntl
import getpass
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from plumbline import tracking
from plumbline.errors import JournalError

if TYPE_CHECKING:
    from sqlalchemy import Engine, Table

START = "0" * 64
ADVISORY_LOCK = 7_104_811_225  # any fixed number: it names plumbline's lock among those of a PostgreSQL database


@dataclass(frozen=True)
class Decision:
    """What is decided on a model, and on what grounds."""

    model: str
    action: Literal["first", "promote", "rollback", "refuse"]
    version: str  # "" for a refusal
    previous: str  # the champion before, "" for none
    bundle: str
    evidence: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Entry(Decision):
    """A decision as it stands in the journal. `number` orders entries; `at` (UTC) only tells people when."""

    number: int
    at: str
    actor: str
    prior: str
    seal: str


class Journal:
    """The open journal, its lock held."""

    def __init__(self, engine: "Engine", table: "Table") -> None:
        self._engine, self._table = engine, table

    def entries(self, model: str | None = None) -> list[Entry]:
        """All entries, or those of one model, oldest first; JournalError names a broken link of the chain."""
        with self._engine.connect() as connection:
            rows = connection.execute(self._table.select().order_by(self._table.c.number)).mappings()
            found = [Entry(**row) for row in rows]
        prior = START
        for position, entry in enumerate(found, 1):
            if entry.number != position or entry.prior != prior or entry.seal != _seal(entry):
                raise JournalError(
                    f"the journal was changed: entry {position} is not what was written. Restore it from a backup, "
                    "and find out who could write to it"
                )
            prior = entry.seal
        return [entry for entry in found if model in (None, entry.model)]

    def append(self, decision: Decision) -> Entry:
        """Add a decision; it is durable when this returns."""
        last = self.entries()[-1:]
        number, prior = (last[0].number + 1, last[0].seal) if last else (1, START)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(**asdict(decision), number=number, at=at, actor=_actor(), prior=prior, seal="")
        entry = replace(entry, seal=_seal(entry))
        with self._engine.begin() as connection:
            connection.execute(self._table.insert().values(**asdict(entry)))
        return entry


@contextmanager
def opened() -> Iterator[Journal]:
    """The journal under a lock that one process holds at a time and that goes with the process, however it ends."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import SQLAlchemyError

    engine = None
    try:
        engine = create_engine(uri())
        with _exclusive(engine):
            table = _table()
            table.metadata.create_all(engine)
            yield Journal(engine, table)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).splitlines()[0]
        raise JournalError(f"the journal cannot be used ({reason}); nothing was changed") from None
    finally:
        if engine is not None:
            engine.dispose()


def uri() -> str:
    """PLUMBLINE_JOURNAL_URI, else beside the registry: mlruns/journal.db, or the same PostgreSQL database."""
    named, store = os.environ.get("PLUMBLINE_JOURNAL_URI"), tracking.uri()
    if named or store.startswith("postgresql"):
        return named or store
    if store.startswith("sqlite:///"):
        return store.rpartition("/")[0] + "/journal.db"
    raise JournalError(
        f"decisions on a registry at {store} need a journal that all who decide share: set PLUMBLINE_JOURNAL_URI to "
        "a PostgreSQL URL, such as the database of that server"
    )


@contextmanager
def _exclusive(engine: "Engine") -> Iterator[None]:
    if engine.dialect.name == "sqlite":
        path = Path(f"{engine.url.database}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    else:
        from sqlalchemy import text

        with engine.connect() as connection:
            connection.execute(text(f"SELECT pg_advisory_lock({ADVISORY_LOCK})"))
            yield


def _table() -> "Table":
    from sqlalchemy import Column, Integer, MetaData, Table, Text

    texts = [field.name for field in fields(Entry) if field.name != "number"]
    number = Column("number", Integer, primary_key=True, autoincrement=False)
    return Table("plumbline_journal", MetaData(), number, *(Column(name, Text, nullable=False) for name in texts))


def _seal(entry: Entry) -> str:
    content = {key: value for key, value in asdict(entry).items() if key != "seal"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _actor() -> str:
    """Who decides: the person or workflow that CI names, else user@host."""
    return os.environ.get("GITHUB_ACTOR") or f"{getpass.getuser()}@{socket.gethostname()}"
