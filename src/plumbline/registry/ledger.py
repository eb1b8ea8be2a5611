"""The uses of test splits: each question asked of a split counts once, whichever model asks.

A look is an entry of the journal, so that nobody can take it back; it moves no champion. The
journal has no columns of its own for a look: `_to_decision` and `_read_uses` say which ones it has.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plumbline.registry.journal import Decision, Entry
from plumbline.registry.reconciliation import append_entry, lock_decisions, reconcile


@dataclass(frozen=True)
class SplitUse:
    """One question that was asked of a test split."""

    question: str  # digest of everything that was measured on it
    split: str  # digest of the split
    plan: str  # for how many uses, at which confidence


@dataclass(frozen=True)
class Look(SplitUse):
    """The use that an evaluation makes of a test split."""

    number: int  # of the use, from 1
    first_plan: str  # the plan at the first use


def record_look(model: str, *, question: str, split: str, plan: str) -> Look:
    """Record that `model` asks `question` of the test split; a known question is not another use.

    Raises JournalError or RegistryError where it cannot be recorded.
    """
    use = SplitUse(question, split, plan)
    with lock_decisions() as (client, book):
        reconcile(client, book, model)
        uses = [earlier for earlier in _read_uses(book.read_entries()) if earlier.split == split]
        questions = [earlier.question for earlier in uses]
        if question not in questions:
            append_entry(client, book, _to_decision(model, use))
            uses.append(use)
            questions.append(question)
    number = questions.index(question) + 1
    return Look(question, split, plan, number, first_plan=uses[0].plan)


def read_uses(model: str) -> list[SplitUse]:
    """Read the uses of test splits that `model` made, oldest first."""
    with lock_decisions() as (client, book):
        reconcile(client, book, model)
        return _read_uses(book.read_entries(model))


def _to_decision(model: str, use: SplitUse) -> Decision:
    return Decision(
        model=model,
        action="look",
        version="",
        previous="",
        bundle=use.question,
        evidence=use.split,
        reason=use.plan,
    )


def _read_uses(entries: Sequence[Entry]) -> list[SplitUse]:
    looks = [entry for entry in entries if entry.action == "look"]
    return [SplitUse(look.bundle, look.evidence, look.reason) for look in looks]
