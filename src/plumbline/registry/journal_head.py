"""The head of the journal: its last entry, as the registry recorded it beside the entry's model.

A chain of hashes does not show that its end is missing; the head does. An entry is sealed over all
entries before it, of whichever model: the newest head of all models is that of the whole journal.
Nor does a chain show that somebody appended to it: therefore the registry also records a move that
is about to be written.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import fields

from plumbline.contract.errors import JournalIntegrityError
from plumbline.registry.journal import START, Decision, Entry

HEAD_TAG = "plumbline.journal"
INTENT_TAG = "plumbline.intent"  # the move that is about to be written
HEAD = re.compile(r"(\d{1,18}):.*", re.ASCII)


def format_head(entry: Entry) -> str:
    """Return the number and seal of an entry, as the registry records them."""
    return f"{entry.number}:{entry.seal}"


def parse_head(model: str, head: str | None) -> int:
    """Return the number of the entry in a head; JournalIntegrityError where somebody edited it."""
    match = HEAD.fullmatch(head or "")
    if match is None:
        raise JournalIntegrityError(
            f"{model}: the tag {HEAD_TAG} of the model in the registry is damaged: expected "
            f"NUMBER:SEAL, found {head!r:.42}; restore the registry from a backup"
        )
    return int(match[1])


def format_intent(decision: Decision, last: Entry | None) -> str:
    """Return a digest of a move and its place: right behind the entry `last`."""
    return _digest_move(decision, last.seal if last else START)


def is_intended(move: Entry, intent: str | None) -> bool:
    """Whether the registry recorded that this entry was about to be written.

    Who can write to the journal's database alone can append a move, and not announce it.
    """
    return intent == _digest_move(move, move.prior)


def is_unrecorded(move: Entry, head: str | None) -> bool:
    """Whether a crash came between journal and registry, or somebody appended to the journal.

    The last `move` of the journal is newer than `head`, the last entry that the registry recorded.
    JournalIntegrityError where the head is damaged.
    """
    return head is None or parse_head(move.model, head) < move.number


def require_whole_journal(name: str, entries: list[Entry], heads: Mapping[str, str | None]) -> None:
    """Raise JournalIntegrityError where `entries` lack one that a head names, or that is damaged.

    `entries` are those of the models of which `heads` has what the registry recorded; None where it
    recorded nothing of a model.
    """
    present = {None, *map(format_head, entries)}
    missing = [parse_head(model, head) for model, head in heads.items() if head not in present]
    if missing:
        raise JournalIntegrityError(
            f"{name}: the journal ends before entry {min(missing)}; restore it from a backup"
        )


def _digest_move(decision: Decision, prior: str) -> str:
    content = {field.name: getattr(decision, field.name) for field in fields(Decision)}
    return hashlib.sha256(json.dumps([prior, content], sort_keys=True).encode()).hexdigest()
