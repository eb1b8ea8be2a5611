"""The uses of test splits: each question asked of a split counts once, whichever model asks.

A split that has more than a fifth of its rows from an earlier one is the same split, whatever its
files and rows are called, and however its rows are labelled.

A look is an entry of the journal, so that nobody can take it back; it moves no champion. The
journal has no columns of its own for a look: `_to_decision` and `_parse_use` say which ones it has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from plumbline.registry.desk import open_desk
from plumbline.registry.journal import Decision, Entry
from plumbline.registry.split_sketch import SplitSketch, estimate_share, parse_sketch

MAX_SHARED = 0.2  # with a larger share of its rows from an earlier split, a split is that one
SKETCH = "; sketch of "  # in the reason of a look, between the plan and the sketch


@dataclass(frozen=True)
class SplitUse:
    """One question that was asked of a test split."""

    question: str  # digest of everything that was measured on it
    split: str  # digest of the split
    plan: str  # for how many uses, at which confidence
    # Of its rows; older looks have none.
    sketch: SplitSketch | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Look(SplitUse):
    """The use that an evaluation makes of a test split."""

    number: int  # of the use, from 1
    first_plan: str  # the plan at the first use
    num_splits: int = 1  # that count as this one, with itself


def record_look(model: str, use: SplitUse) -> Look:
    """Record that `model` asks a question of the test split; a known one is not another use.

    Raises JournalError or RegistryError where it cannot be recorded.
    """
    with open_desk(model) as desk:
        uses = _read_uses(desk.journal)
        if (use.question, use.split) not in [(known.question, known.split) for known in uses]:
            desk.note(_to_decision(model, use))
    return _build_look(use, uses)


def count_look(entries: Sequence[Entry], use: SplitUse) -> Look:
    """Return the look that `record_look` would return with these entries of the whole journal."""
    return _build_look(use, _read_uses(entries))


def read_uses(model: str) -> list[SplitUse]:
    """Read the uses of test splits that `model` made, oldest first."""
    with open_desk(model) as desk:
        return _read_uses(desk.entries)


def is_same_split(new: SplitUse, old: SplitUse) -> bool:
    """Whether a split counts as an earlier one."""
    if new.split == old.split:
        return True
    if new.sketch is None or old.sketch is None:
        return False
    return estimate_share(new.sketch, old.sketch) > MAX_SHARED


def describe_reason(entry: Entry) -> str:
    """Return an entry's reason as people read it: of a look, the plan without the sketch."""
    return entry.reason.partition(SKETCH)[0] if entry.action == "look" else entry.reason


def _build_look(use: SplitUse, known: Sequence[SplitUse]) -> Look:
    """Count the questions that were asked of this split, `use` being the last where it is new."""
    uses = [earlier for earlier in known if is_same_split(use, earlier)]
    uses.append(use)
    questions = list(dict.fromkeys(earlier.question for earlier in uses))
    return Look(
        use.question,
        use.split,
        use.plan,
        number=questions.index(use.question) + 1,
        first_plan=uses[0].plan,
        sketch=use.sketch,
        num_splits=len({earlier.split for earlier in uses}),
    )


def _to_decision(model: str, use: SplitUse) -> Decision:
    reason = use.plan if use.sketch is None else f"{use.plan}{SKETCH}{use.sketch}"
    return Decision(
        model=model,
        action="look",
        version="",
        previous="",
        bundle=use.question,
        evidence=use.split,
        reason=reason,
    )


def _read_uses(entries: Sequence[Entry]) -> list[SplitUse]:
    return [_parse_use(entry) for entry in entries if entry.action == "look"]


def _parse_use(look: Entry) -> SplitUse:
    plan, _, sketch = look.reason.partition(SKETCH)
    return SplitUse(look.bundle, look.evidence, plan, sketch=parse_sketch(sketch))
