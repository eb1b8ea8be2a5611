"""From single windows to a decision: drift that persists requests training, within limits.

The journal keeps the result of every check, so that the checks of all machines count together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from plumbline.contract.params import Drift
from plumbline.drift.statistical_tests import DriftTest
from plumbline.registry.journal import Entry

Verdict = Literal["stable", "drift", "watch", "too few rows"]

EXIT_CODES: dict[Verdict, int] = {"stable": 0, "drift": 30, "watch": 31, "too few rows": 32}
SEEN = {True: "drifted", False: "stable"}  # the first word of a check's reason in the journal
READ_AT = "; rows read at "  # before the last one, a time


@dataclass(frozen=True)
class DriftOutcome:
    """What to do, and why."""

    verdict: Verdict
    reason: str


def judge_window(tests: Sequence[DriftTest], num_rows: int, limits: Drift) -> DriftOutcome:
    """The outcome of one window by itself."""
    if num_rows < limits.min_rows:
        reason = f"{num_rows} rows; drift.min_rows requires {limits.min_rows}"
        return DriftOutcome("too few rows", reason)
    drifted = [test for test in tests if test.drifted]
    if not drifted:
        return DriftOutcome("stable", f"none of {len(tests)} tests shows drift")
    names = ", ".join(f"{test.column} ({test.what})" for test in drifted)
    return DriftOutcome("drift", f"{len(drifted)} of {len(tests)} tests show drift: {names}")


def judge_over_time(
    window: DriftOutcome, history: Sequence[Entry], version: str, limits: Drift, now: datetime
) -> DriftOutcome:
    """The outcome when `window` is the newest entry of `history`, which is oldest first.

    Windows of other champions do not count. Times are those of the journal and only limit how
    often training is requested; a request from the future, by a clock that was ahead, counts as of
    now.
    """
    recent = _list_checks(history, version)[-limits.persistence.of :]
    num_drifted = sum(entry.reason.startswith(SEEN[True]) for entry in recent)
    reason = f"{window.reason}; {num_drifted} of the last {len(recent)} windows drifted"
    if window.verdict == "stable":
        return DriftOutcome("stable", reason)
    needed = limits.persistence.windows
    if num_drifted < needed:
        return DriftOutcome("watch", f"{reason}, training needs {needed}")
    limit = _find_limit_reached(history, limits, now)
    if limit:
        return DriftOutcome("watch", f"{reason}; {limit}")
    return DriftOutcome("drift", reason)


def describe_check(window: DriftOutcome, read_at: datetime) -> str:
    """Return the reason in the journal: what a window showed, and when its rows were read."""
    time = read_at.isoformat(timespec="seconds")
    return f"{SEEN[window.verdict == 'drift']}: {window.reason}{READ_AT}{time}"


def find_last_check(history: Sequence[Entry], version: str) -> datetime | None:
    """When this champion's requests were read last for a check; None for never.

    Checks from the future, by a clock that was ahead, do not count: rows are read twice rather than
    left out.
    """
    times = [_find_read_time(entry) for entry in _list_checks(history, version)]
    now = get_utc_time()
    return max((time for time in times if time <= now), default=None)


def get_utc_time() -> datetime:
    """The current time, as in the journal's entries."""
    return datetime.now(UTC)


def _list_checks(history: Sequence[Entry], version: str) -> list[Entry]:
    return [entry for entry in history if (entry.action, entry.version) == ("drift", version)]


def _find_read_time(check: Entry) -> datetime:
    """When the rows of a check were read; older versions recorded only when it ended."""
    _, is_recorded, read_at = check.reason.rpartition(READ_AT)
    return datetime.fromisoformat(read_at if is_recorded else check.at)


def _find_limit_reached(history: Sequence[Entry], limits: Drift, now: datetime) -> str:
    """Which limit on requests for training is reached; empty for none."""
    requested = [datetime.fromisoformat(e.at) for e in history if e.action == "retrain"]
    today = [time for time in requested if time > now - timedelta(days=1)]
    if len(today) >= limits.retrain.per_day:
        return f"training was requested {len(today)} times within a day, the most allowed"
    hours = limits.retrain.cooldown_hours
    if requested and now - requested[-1] < timedelta(hours=hours):
        return f"training was requested less than {hours} hours ago"
    return ""
