"""From single windows to a decision: drift that persists requests training, within limits.

The journal keeps the result of every check, so that the checks of all machines count together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from plumbline.contract.params import Drift
from plumbline.drift.statistical_tests import DriftTest
from plumbline.registry.journal import Entry

Verdict = Literal["stable", "drift", "watch", "too few rows"]

EXIT_CODES: dict[Verdict, int] = {"stable": 0, "drift": 30, "watch": 31, "too few rows": 32}
SEEN = {True: "drifted", False: "stable"}  # the first word of a check's reason in the journal
# Training is requested where so many of the last windows drifted.
NUM_DRIFTED, NUM_WINDOWS = 2, 3
A_FILE = "a file"  # in place of the digest of a log
# The end of a check's reason in the journal.
READ = re.compile(rf"; rows of ({A_FILE}|[0-9a-f]{{12}}) read at (\S+)\Z")


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
    window: DriftOutcome, history: Sequence[Entry], version: str, log: str | None
) -> DriftOutcome:
    """The outcome of `window`, which `history` has already; that is oldest first.

    `log` is the digest of the log that the window was read from, None for a file.

    Windows of other champions and of other sources do not count, else a check of rows that are
    known to be stable would thin out the others.
    """
    recent = _list_checks(history, version, log or A_FILE)[-NUM_WINDOWS:]
    num_drifted = sum(has_drifted for has_drifted, _ in recent)
    reason = f"{window.reason}; {num_drifted} of the last {len(recent)} windows drifted"
    if window.verdict == "drift" and num_drifted < NUM_DRIFTED:
        return DriftOutcome("watch", f"{reason}, training needs {NUM_DRIFTED}")
    return DriftOutcome(window.verdict, reason)


def describe_check(window: DriftOutcome, log: str | None, at: datetime) -> str:
    """Return the reason in the journal: what a window showed, and which rows it had.

    They were read from `log` as in `judge_over_time`, at the time `at`.
    """
    seen = SEEN[window.verdict == "drift"]
    time = at.isoformat(timespec="seconds")
    return f"{seen}: {window.reason}; rows of {log or A_FILE} read at {time}"


def find_last_check(history: Sequence[Entry], version: str, log: str) -> datetime | None:
    """When this champion's requests in the log with this digest were read last; None for never.

    Of the checks of this log, the one that the journal has last counts.
    """
    checks = _list_checks(history, version, log)
    return checks[-1][1] if checks else None


def _list_checks(
    history: Sequence[Entry], version: str, source: str
) -> list[tuple[bool, datetime]]:
    """List the checks of a version on this source: whether it drifted, and when rows were read."""
    checks = []
    for entry in history:
        read = READ.search(entry.reason)
        if (entry.action, entry.version) == ("drift", version) and read and read[1] == source:
            has_drifted = entry.reason.startswith(SEEN[True])
            checks.append((has_drifted, datetime.fromisoformat(read[2])))
    return checks
