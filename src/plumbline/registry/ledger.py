"""The uses of test splits: each question asked of a split counts once, whichever model asks.

A split that has more than a fifth of its rows from an earlier one is the same split, whatever its
files and rows are called, and however its rows are labelled. Each use (a look) keeps a bottom-k
sketch of its split (Broder 1997; Cohen and Kaplan 2007): the k smallest of the hashes of all
distinct rows, from which the number of rows that two splits share is estimated.

Looks are a table of their own in the journal's database.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from plumbline.registry import journal
from plumbline.registry.journal_lock import find_actor

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

MAX_SHARED = 0.2  # with a larger share of its rows from an earlier split, a split is that one
SIZE = 256  # rows in a sketch: a share of one fifth is estimated to about 0.03
HASH_BYTES = 6


@dataclass(frozen=True)
class SplitSketch:
    """The number of distinct rows of a split, and the smallest of their hashes, in order."""

    num_rows: int
    hashes: bytes  # one after the other

    def list_hashes(self) -> list[bytes]:
        """Return the hashes one by one."""
        starts = range(0, len(self.hashes), HASH_BYTES)
        return [self.hashes[start : start + HASH_BYTES] for start in starts]


@dataclass(frozen=True)
class SplitUse:
    """One question that was asked of a test split."""

    question: str  # digest of everything that was measured on it, a blank, and the rule it meets
    split: str  # digest of the split
    plan: str  # for how many uses, at which confidence
    sketch: SplitSketch = SplitSketch(0, b"")  # of its rows


@dataclass(frozen=True)
class Look:
    """Which use of a test split an evaluation makes."""

    question: str  # as in SplitUse, and the next two
    split: str
    plan: str
    number: int  # of the use, from 1
    first_plan: str  # the plan at the first use
    num_splits: int  # that count as this one, with itself
    change: str = ""  # what an earlier use asked that had another rule; "" where none had


def record_look(model: str, use: SplitUse) -> Look:
    """Record that `model` asks a question of the test split; a known one is not another use.

    Raises JournalError where it cannot be recorded.
    """
    with journal.lock_journal() as book:
        uses = _read_uses(book.connection)
        if (use.question, use.split) not in [(known.question, known.split) for known in uses]:
            _append(book.connection, model, use)
    return count_look(uses, use)


def count_look(known: Sequence[SplitUse], use: SplitUse) -> Look:
    """Return the look that `record_look` would return after the uses `known`, oldest first."""
    uses = [*(earlier for earlier in known if is_same_split(use, earlier)), use]
    questions = list(dict.fromkeys(earlier.question for earlier in uses))
    number = questions.index(use.question) + 1
    num_splits = len({earlier.split for earlier in uses})
    change = _describe_change([question.partition(" ")[2] for question in questions[:number]])
    return Look(use.question, use.split, use.plan, number, uses[0].plan, num_splits, change)


def read_uses() -> list[SplitUse]:
    """Read the uses of test splits that all models made, oldest first; no lock is taken."""
    with journal.read_journal() as book:
        return _read_uses(book.connection)


def build_sketch(identities: Iterable[str]) -> SplitSketch:
    """Sketch a split by the identities of its rows: what they contain, not how they are called."""
    hashes = {hashlib.sha256(row.encode()).digest()[:HASH_BYTES] for row in identities}
    return SplitSketch(len(hashes), b"".join(sorted(hashes)[:SIZE]))


def is_same_split(new: SplitUse, old: SplitUse) -> bool:
    """Whether a split counts as an earlier one."""
    return new.split == old.split or estimate_share(new.sketch, old.sketch) > MAX_SHARED


def estimate_share(new: SplitSketch, old: SplitSketch) -> float:
    """Estimate which share of the rows of `new` is in `old` too.

    Exact for splits of at most SIZE rows. Where `old` is a thousand times larger than `new`, too
    few of the hashes are comparable and the estimate is 0 or wide.
    """
    ours, theirs = new.list_hashes(), old.list_hashes()
    if old.num_rows > len(theirs):  # it knows all hashes of its split up to its own largest one
        ours = [value for value in ours if value <= theirs[-1]]
    return len(set(ours) & set(theirs)) / len(ours) if ours else 0.0


def _describe_change(rules: Sequence[str]) -> str:
    """Say which of the earlier uses asked by another rule than the last one; of many the latest."""
    own = rules[-1]
    for number, rule in reversed(list(enumerate(rules, 1))):
        if own and rule not in ("", own):
            return f"Use {number} of this test split asked: {rule}; this one: {own}."
    return ""


def _append(connection: "Connection", model: str, use: SplitUse) -> None:
    """Add a look; the first one makes the table. Who made it, and when, are for people only."""
    row = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "actor": find_actor(),
        "model": model,
        "question": use.question,
        "split": use.split,
        "plan": use.plan,
        "num_rows": use.sketch.num_rows,
        "hashes": use.sketch.hashes,
    }
    table = _build_table()
    with connection.begin():
        table.create(connection, checkfirst=True)
        connection.execute(table.insert(), [row])


def _read_uses(connection: "Connection") -> list[SplitUse]:
    """Read all looks, oldest first; none where no table was made yet."""
    from sqlalchemy import inspect

    table = _build_table()
    with connection.begin():
        if not inspect(connection).has_table(table.name):
            return []
        rows = connection.execute(table.select().order_by(table.c.number)).all()
    return [
        SplitUse(row.question, row.split, row.plan, SplitSketch(row.num_rows, row.hashes))
        for row in rows
    ]


def _build_table() -> "Table":
    from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, Text

    texts = ("at", "actor", "model", "question", "split", "plan")
    return Table(
        "plumbline_looks",
        MetaData(),
        Column("number", Integer, primary_key=True),
        *(Column(name, Text, nullable=False) for name in texts),
        Column("num_rows", Integer, nullable=False),
        Column("hashes", LargeBinary, nullable=False),
    )
