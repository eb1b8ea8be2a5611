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

from plumbline.contract.errors import JournalError
from plumbline.tracking import mlflow_runs

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table

START = "0" * 64
ADVISORY_LOCK = 7_104_811_225  # any fixed number: it names plumbline's lock among those of a PostgreSQL database
CONNECT_TIMEOUT_S = 10
MOVING = ("first", "promote", "rollback", "override")  # the decisions that make a version champion

Action = Literal[
    "first",
    "promote",
    "rollback",
    "override",
    "keep",
    "refuse",
    "look",
    "return",
    "drift",
    "retrain",
]


@dataclass(frozen=True)
class Decision:
    """What is decided on a model, and on what grounds; or one look at a test split."""

    model: str
    action: Action
    version: str  # "" where there is none: a refusal, a look
    previous: str  # the champion before, "none" for none; "" where the champion does not move
    bundle: str  # of a look: the digest of what was asked
    evidence: str  # of a look: the digest of the test split
    reason: str

    @property
    def moves(self) -> bool:
        """Whether it makes `version` champion."""
        return self.action in MOVING


@dataclass(frozen=True, kw_only=True)
class Entry(Decision):
    """A decision as it stands in the journal. `number` orders entries; `at` (UTC) only tells people when."""

    number: int
    at: str
    actor: str
    prior: str
    seal: str


class Journal:
    """The open journal. All goes through the connection that holds the lock: whoever loses one loses both."""

    def __init__(self, connection: "Connection", table: "Table") -> None:
        self._connection, self._table = connection, table

    def entries(self, model: str | None = None) -> list[Entry]:
        """All entries, or those of one model, oldest first; JournalError names a broken link of the chain."""
        found = self.unchecked()
        if position := broken(found):
            raise JournalError(
                f"the journal was changed: entry {position} is not what was written. Restore it from a backup, "
                "and find out who could write to it"
            )
        return [entry for entry in found if model in (None, entry.model)]

    def unchecked(self) -> list[Entry]:
        """All entries as they stand, for those who look for damage."""
        with self._connection.begin():
            rows = self._connection.execute(
                self._table.select().order_by(self._table.c.number)
            ).mappings()
            return [Entry(**row) for row in rows]

    def append(self, decision: Decision) -> Entry:
        """Add a decision; it is durable when this returns."""
        last = self.entries()[-1:]
        number, prior = (last[0].number + 1, last[0].seal) if last else (1, START)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(
            **asdict(decision), number=number, at=at, actor=_actor(), prior=prior, seal=""
        )
        entry = replace(entry, seal=_seal(entry))
        with self._connection.begin():
            self._connection.execute(self._table.insert().values(**asdict(entry)))
        return entry


def broken(entries: list[Entry]) -> int | None:
    """The position of the first entry that is not what was written, or None."""
    prior = START
    for position, entry in enumerate(entries, 1):
        if entry.number != position or entry.prior != prior or entry.seal != _seal(entry):
            return position
        prior = entry.seal
    return None


@contextmanager
def opened() -> Iterator[Journal]:
    """The journal under a lock that one process holds at a time and that goes with the process, however it ends."""
    from sqlalchemy.exc import SQLAlchemyError

    engine = _engine()
    try:
        with _exclusive(engine) as connection:
            table = _table()
            with connection.begin():
                table.metadata.create_all(connection)
            yield Journal(connection, table)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).splitlines()[0]
        raise JournalError(
            f"the journal cannot be used ({reason}); look at `plumbline journal` before you try again"
        ) from None
    finally:
        engine.dispose()


@contextmanager
def seen(at: str | None = None) -> Iterator[Journal]:
    """The journal, or that `at` another URI, for reading alone, without its lock: nobody who decides waits for it."""
    from sqlalchemy.exc import SQLAlchemyError

    engine = _engine(at)
    try:
        if engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).exists():
            raise JournalError(
                f"there is no journal at {engine.url.database}: no decision was ever made here"
            )
        with engine.connect() as connection:
            yield Journal(connection, _table())
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).splitlines()[0]
        raise JournalError(f"the journal cannot be read ({reason})") from None
    finally:
        engine.dispose()


def uri() -> str:
    """PLUMBLINE_JOURNAL_URI, else beside the registry: mlruns/journal.db, or the same PostgreSQL database."""
    named, store = os.environ.get("PLUMBLINE_JOURNAL_URI"), mlflow_runs.uri()
    if named or store.startswith("postgresql"):
        return named or store
    if store.startswith("sqlite:///"):
        return store.rpartition("/")[0] + "/journal.db"
    raise JournalError(
        f"decisions on a registry at {store} need a journal that all who decide share: set PLUMBLINE_JOURNAL_URI to "
        "a PostgreSQL URL, such as the database of that server"
    )


def _engine(at: str | None = None) -> "Engine":
    from sqlalchemy import create_engine
    from sqlalchemy.exc import ArgumentError

    try:
        where = at or uri()
        wait = {"connect_timeout": CONNECT_TIMEOUT_S} if where.startswith("postgresql") else {}
        return create_engine(where, connect_args=wait)
    except ModuleNotFoundError as error:
        raise JournalError(
            f"the journal's database needs the package {error.name}; run `make setup`"
        ) from None
    except ArgumentError as error:
        raise JournalError(f"PLUMBLINE_JOURNAL_URI is no database URL ({error})") from None


@contextmanager
def _exclusive(engine: "Engine") -> Iterator["Connection"]:
    if engine.dialect.name == "sqlite":
        path = Path(f"{engine.url.database}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file, engine.connect() as connection:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield connection
    else:
        from sqlalchemy import text

        with engine.connect() as connection:
            with connection.begin():  # the lock is the session's: it outlives this transaction
                connection.execute(text(f"SELECT pg_advisory_lock({ADVISORY_LOCK})"))
            yield connection


def _table() -> "Table":
    from sqlalchemy import Column, Integer, MetaData, Table, Text

    texts = [field.name for field in fields(Entry) if field.name != "number"]
    number = Column("number", Integer, primary_key=True, autoincrement=False)
    return Table(
        "plumbline_journal",
        MetaData(),
        number,
        *(Column(name, Text, nullable=False) for name in texts),
    )


def _seal(entry: Entry) -> str:
    content = {key: value for key, value in asdict(entry).items() if key != "seal"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _actor() -> str:
    """Who decides: the person or workflow that CI names, else user@host."""
    return (
        os.environ.get("GITHUB_TRIGGERING_ACTOR")
        or os.environ.get("GITHUB_ACTOR")
        or f"{getpass.getuser()}@{socket.gethostname()}"
    )
