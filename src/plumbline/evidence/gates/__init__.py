"""The questions a winner must answer before anything may be promoted: one small function a gate, listed in GATES."""

import math
from collections.abc import Callable

from plumbline.evidence.gates import against, data, fitness, worth
from plumbline.evidence.gates.facts import Facts, Finding, Gate

__all__ = ["GATES", "Facts", "Finding", "Gate", "judge"]

GATES: tuple[tuple[str, str, Callable[[Facts], Finding]], ...] = (
    ("accepted", "Was exactly this data validated?", data.accepted),
    ("coverage", "Does every split hold every class?", data.coverage),
    ("leakage", "Do examples cross from one split into another?", data.leakage),
    ("baselines", "Is it better than doing almost nothing?", worth.baselines),
    ("bounds", "Is it too good to be true?", worth.bounds),
    ("control", "Does it learn from anything it should not?", worth.control),
    ("floor", "Is it good enough?", worth.floor),
    ("champion", "Is it better than the champion?", against.champion),
    ("slices", "Is any group harmed?", against.slices),
    ("calibration", "Do its probabilities mean anything?", fitness.calibration),
    ("behaviour", "Does it know the obvious?", fitness.behaviour),
    ("budget", "Can it be run in production?", fitness.budget),
    ("parity", "Does the form that is served answer as the one that was trained?", fitness.parity),
    ("replay", "Is what is packaged what was measured?", fitness.replay),
    ("power", "Can this test split tell?", against.enough),
)


def judge(facts: Facts) -> list[Gate]:
    """Ask every gate. One that cannot be computed fails, with the reason."""
    return [_asked(name, question, check, facts) for name, question, check in GATES]


def _asked(name: str, question: str, check: Callable[[Facts], Finding], facts: Facts) -> Gate:
    try:
        found = check(facts)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        found = Finding("fail", f"cannot be computed: {type(error).__name__}: {error}")
    if found.measured is not None and not math.isfinite(found.measured):
        found = Finding("fail", f"cannot be computed: measured {found.measured}")
    return Gate(
        name, question, found.status, found.measured, found.threshold, found.interval, found.reason
    )
