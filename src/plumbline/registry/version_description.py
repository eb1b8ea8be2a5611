"""What MLflow shows as a version's description: its model card, then the decisions on it.

A table of MLflow's holds 5,000 characters of it: PostgreSQL refuses more, SQLite does not.
"""

from collections.abc import Sequence

MAX_CHARACTERS = 5000
MAX_DECISIONS = 2000  # characters; then the oldest are left out
MAX_DECISION = 500
HEADING = "\n## Decisions\n\n"
CUT = "\n\n(The rest of the card is in `model_card.md` of the package.)\n"


def build_description(card: str, decisions: Sequence[str] = ()) -> str:
    """Join a card and the lines of decisions, oldest first; what is too long is cut and says so."""
    ending = "".join(f"{line}\n" for line in _keep_newest(decisions))
    if ending:
        ending = HEADING + ending
    room = MAX_CHARACTERS - len(ending)
    if len(card) > room:
        fitting = card[: room - len(CUT)]
        whole_lines = fitting.rpartition("\n")[0] or fitting
        card = whole_lines + CUT
    return card + ending


def add_decision(description: str, decision: str) -> str:
    """Add the line of a decision to a description."""
    card, _, decisions = description.partition(HEADING)
    return build_description(card, [*decisions.splitlines(), decision])


def _keep_newest(decisions: Sequence[str]) -> list[str]:
    """Return the last decisions that fit together."""
    kept: list[str] = []
    room = MAX_DECISIONS
    for decision in reversed(decisions):
        line = decision if len(decision) <= MAX_DECISION else f"{decision[:MAX_DECISION]} ..."
        room -= len(line) + 1
        if room < 0:
            break
        kept.insert(0, line)
    return kept
