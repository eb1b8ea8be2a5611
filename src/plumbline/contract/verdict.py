"""From what the gates say to one verdict."""

from collections.abc import Mapping
from typing import Literal

Verdict = Literal["promote", "keep", "refuse"]
EXIT_CODES = {"promote": 0, "keep": 10, "refuse": 20, "error": 1}  # error: no verdict was reached
COMPARISON = "champion"  # the gate whose failure lets the champion stay


def decide_verdict(statuses: Mapping[str, str]) -> Verdict:
    """Decide from the status of each gate, by its name.

    refuse: a gate failed, or none was asked; keep: only the gate `champion` failed; promote: none.
    """
    failed = {name for name, status in statuses.items() if status == "fail"}
    if not statuses or failed - {COMPARISON}:
        return "refuse"
    return "keep" if failed else "promote"
