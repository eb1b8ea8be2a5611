"""From single windows to a decision: drift that persists asks for training, no more often than is allowed.

The journal keeps what every look found, so that all machines that look count together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from plumbline.contract.params import Drift
from plumbline.drift.tests import Test
from plumbline.registry.journal import Entry

Verdict = Literal["stable", "drift", "watch", "too few rows"]

EXIT_CODES: dict[Verdict, int] = {"stable": 0, "drift": 30, "watch": 31, "too few rows": 32}
SEEN = {True: "drifted", False: "stable"}  # how a look begins in the journal


@dataclass(frozen=True)
class Outcome:
    """What is to be done, and why."""

    verdict: Verdict
    reason: str


def of_window(tests: Sequence[Test], num_rows: int, limits: Drift) -> Outcome:
    """What one window shows."""
    if num_rows < limits.min_rows:
        return Outcome(
            "too few rows", f"{num_rows} rows; drift.min_rows asks for {limits.min_rows}"
        )
    found = [test for test in tests if test.drifted]
    if not found:
        return Outcome("stable", f"none of {len(tests)} tests shows drift")
    names = ", ".join(f"{test.column} ({test.what})" for test in found)
    return Outcome("drift", f"{len(found)} of {len(tests)} tests show drift: {names}")


def over_time(
    window: Outcome, history: Sequence[Entry], version: str, limits: Drift, now: datetime
) -> Outcome:
    """What is to be done when this window is the newest entry of `history`, which is oldest first.

    Windows of other champions count for nothing. Times are the journal's, and only bound how often is trained: entries
    from the future, after a clock was set back, hold nothing back.
    """
    looks = [entry for entry in history if (entry.action, entry.version) == ("drift", version)]
    recent = looks[-limits.persistence.of :]
    drifted = sum(entry.reason.startswith(SEEN[True]) for entry in recent)
    asked = [
        at
        for entry in history
        if entry.action == "retrain" and (at := datetime.fromisoformat(entry.at)) <= now
    ]
    counted = f"{window.reason}; {drifted} of the last {len(recent)} windows drifted"
    if window.verdict == "stable":
        return Outcome("stable", counted)
    if drifted < limits.persistence.windows:
        return Outcome("watch", f"{counted}, {limits.persistence.windows} ask for training")
    today = [at for at in asked if at > now - timedelta(days=1)]
    if len(today) >= limits.retrain.per_day:
        return Outcome(
            "watch",
            f"{counted}; training was asked for {len(today)} times within a day, the most allowed",
        )
    if asked and now - asked[-1] < timedelta(hours=limits.retrain.cooldown_hours):
        return Outcome(
            "watch",
            f"{counted}; training was asked for less than {limits.retrain.cooldown_hours} hours ago",
        )
    return Outcome("drift", counted)


def last(history: Sequence[Entry], version: str) -> datetime | None:
    """When this champion's requests were looked at last."""
    looks = [
        datetime.fromisoformat(e.at) for e in history if (e.action, e.version) == ("drift", version)
    ]
    return max((at for at in looks if at <= utc()), default=None)


def utc() -> datetime:
    """The time of the journal's entries."""
    return datetime.now(UTC)
