"""Every decision on a model, in the order it was made: append-only, in a chain of hashes.

Each entry is sealed by a hash that covers the hash of the entry before. The chain shows edits,
deletions and reordering; a missing tail shows against the head that the registry keeps. The journal
is one table: in a SQLite file beside a local registry, in the same database as one on PostgreSQL.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from plumbline.contract.errors import JournalError, JournalIntegrityError
from plumbline.registry import journal_lock
from plumbline.registry.journal_lock import find_actor
from plumbline.sources.addresses import hide_secrets
from plumbline.tracking import store_errors, store_location

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table
    from sqlalchemy.exc import SQLAlchemyError

START = "0" * 64
CONNECT_TIMEOUT_S = 10
# What SQLite says, as of a database that does not answer, where it read one that was changed.
DAMAGE = ("no such table", "no such column")
# Addresses of databases that keep what is written.
KEPT = re.compile(r"postgresql(\+\w+)?://|sqlite:///[^:?]")
WANTED = (
    "expected one like postgresql+psycopg2://USER:PASSWORD@HOST:PORT/DATABASE, or "
    "sqlite:////FOLDER/journal.db"
)
MOVING = ("first", "promote", "rollback", "override")  # the decisions that make a version champion

Action = Literal[
    "first", "promote", "rollback", "override", "registered", "keep", "refuse", "return", "drift",
    "retrain", "outcomes", "trial",
]  # fmt: skip


@dataclass(frozen=True)
class Decision:
    """What is decided on a model, and on what grounds."""

    model: str
    action: Action
    version: str  # "" where there is none, as of a refusal
    previous: str  # the champion before, "none" for none; "" where the champion does not move
    bundle: str
    evidence: str
    reason: str

    @property
    def moves(self) -> bool:
        """Whether it makes `version` champion."""
        return self.action in MOVING


@dataclass(frozen=True, kw_only=True)
class Entry(Decision):
    """A decision in the journal. `number` orders entries; `at` (UTC) is for people only.

    `at` is never before that of the entry before, even where a clock was set back.
    """

    number: int
    at: str
    actor: str
    prior: str
    seal: str


class Journal:
    """The open journal. All goes through the connection that holds the lock: both end together."""

    def __init__(self, connection: "Connection", table: "Table") -> None:
        self.connection = connection
        self._table = table

    def has_table(self) -> bool:
        """Whether anything was ever written: the first who decides makes the table."""
        from sqlalchemy import inspect

        with self.connection.begin():
            return bool(inspect(self.connection).has_table(self._table.name))

    def read_entries(self, model: str | None = None) -> list[Entry]:
        """Read all entries, or those of one model, oldest first.

        JournalError names the first entry whose hash or place in the chain is wrong.
        """
        query = self._table.select().order_by(self._table.c.number)
        with self.connection.begin():
            entries = [Entry(**row) for row in self.connection.execute(query).mappings()]
        _require_chain(entries)
        return [entry for entry in entries if model in (None, entry.model)]

    def append(self, decision: Decision) -> Entry:
        """Add a decision; it is durable when this returns."""
        entries = self.read_entries()
        number, prior = 1, START
        at = datetime.now(UTC).isoformat(timespec="seconds")
        if entries:
            last = entries[-1]
            number, prior = last.number + 1, last.seal
            at = max(at, last.at)  # both are UTC to the second: text sorts as time does
        entry = Entry(
            **asdict(decision), number=number, at=at, actor=find_actor(), prior=prior, seal=""
        )
        entry = replace(entry, seal=_compute_seal(entry))
        with self.connection.begin():
            self.connection.execute(self._table.insert().values(**asdict(entry)))
        return entry


@contextmanager
def lock_journal() -> Iterator[Journal]:
    """Open the journal under a lock that one process holds at a time.

    The lock ends with the process, however that ends.
    """
    from sqlalchemy.exc import SQLAlchemyError

    engine = _create_engine(find_journal_uri())
    try:
        with _hold_lock(engine) as connection:
            table = _build_table()
            with connection.begin():
                table.metadata.create_all(connection)
            yield Journal(connection, table)
    except SQLAlchemyError as error:
        raise JournalError(
            f"the journal cannot be used ({_shorten(error)}); "
            "look at `plumbline journal` before you try again"
        ) from None
    finally:
        engine.dispose()


@contextmanager
def read_journal() -> Iterator[Journal]:
    """Open the journal to read it only.

    It takes no lock: nobody who decides waits for a reader.
    """
    from sqlalchemy.exc import SQLAlchemyError

    engine = _create_engine(find_journal_uri())
    try:
        if engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).exists():
            raise JournalIntegrityError(
                f"there is no journal at {engine.url.database}: no decision was ever made here"
            )
        with engine.connect() as connection:
            yield Journal(connection, _build_table())
    except SQLAlchemyError as error:
        raise _build_read_error(error) from None
    finally:
        engine.dispose()


def find_journal_uri() -> str:
    """PLUMBLINE_JOURNAL_URI, else beside the registry.

    There it is mlruns/journal.db, or the same PostgreSQL database. Raises JournalError where there
    is none, or one that keeps nothing.
    """
    uri = os.environ.get("PLUMBLINE_JOURNAL_URI")
    if uri:
        if not KEPT.match(uri):
            raise JournalError(f"PLUMBLINE_JOURNAL_URI: {WANTED}")
        return uri
    store = store_location.find_uri()
    if store.startswith("postgresql"):
        return store
    if store.startswith("sqlite:///"):
        return store.rpartition("/")[0] + "/journal.db"
    shown = hide_secrets(store)
    raise JournalError(
        f"decisions on a registry at {shown} need a journal that all who decide share: set "
        "PLUMBLINE_JOURNAL_URI to a PostgreSQL URL, such as the database of that server"
    )


def _build_read_error(error: "SQLAlchemyError") -> JournalError:
    """A database that does not answer is unreachable; one without a sound table was changed."""
    from sqlalchemy.exc import OperationalError

    reason = _shorten(error)
    is_damaged = any(text in reason for text in DAMAGE)
    is_unreachable = isinstance(error, OperationalError) and not is_damaged
    kind = JournalError if is_unreachable else JournalIntegrityError
    return kind(f"the journal cannot be read ({reason})")


def _create_engine(uri: str) -> "Engine":
    from sqlalchemy import create_engine
    from sqlalchemy.exc import ArgumentError

    arguments = {}
    if uri.startswith("postgresql"):
        arguments["connect_timeout"] = CONNECT_TIMEOUT_S
    try:
        return create_engine(uri, connect_args=arguments)
    except ModuleNotFoundError as error:
        raise JournalError(
            f"the journal's database needs the package {error.name}; run `make setup`"
        ) from None
    except (ArgumentError, ValueError):  # its text is not shown: a part of it may be a password
        raise JournalError(f"PLUMBLINE_JOURNAL_URI is not a valid database URL; {WANTED}") from None


@contextmanager
def _hold_lock(engine: "Engine") -> Iterator["Connection"]:
    if engine.dialect.name == "sqlite":
        path = Path(f"{engine.url.database}.lock")
        with journal_lock.hold_file_lock(path):
            Path(str(engine.url.database)).touch()  # SQLite's own no group may write
            with engine.connect() as connection:
                yield connection
    else:
        with engine.connect() as connection:
            journal_lock.take_database_lock(connection)
            yield connection


def _build_table() -> "Table":
    from sqlalchemy import Column, Integer, MetaData, Table, Text

    number = Column("number", Integer, primary_key=True, autoincrement=False)
    texts = [field.name for field in fields(Entry) if field.name != "number"]
    columns = [Column(name, Text, nullable=False) for name in texts]
    return Table("plumbline_journal", MetaData(), number, *columns)


def _require_chain(entries: list[Entry]) -> None:
    prior = START
    for position, entry in enumerate(entries, 1):
        if entry.number != position or entry.prior != prior or entry.seal != _compute_seal(entry):
            raise JournalIntegrityError(
                f"journal integrity check failed at entry {position} (hash mismatch): the journal "
                "was changed. Restore it from a backup, and find out who could write to it"
            )
        prior = entry.seal


def _compute_seal(entry: Entry) -> str:
    content = {key: value for key, value in asdict(entry).items() if key != "seal"}
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _shorten(error: Exception) -> str:
    return store_errors.shorten_error(getattr(error, "orig", None) or error)
