"""From what the gates say to one verdict: the rule, for who judges and for who reads evidence."""

from collections.abc import Mapping
from typing import Any, Literal

Verdict = Literal["promote", "keep", "refuse"]
STATUSES = ("pass", "fail", "not-applicable")
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


def read_statuses(evidence: Mapping[str, Any]) -> dict[str, str]:
    """Read the status of each gate from evidence; ValueError where a gate is odd or there twice."""
    gates = evidence.get("gates")
    if not isinstance(gates, list):
        raise ValueError("it lists no gates")  # noqa: TRY004  as any other fault of the evidence
    statuses: dict[str, str] = {}
    for gate in gates:
        match gate:
            case {"name": str(name), "status": str(status)} if status in STATUSES:
                if name in statuses:
                    raise ValueError(f"the gate {name} is there twice")
                statuses[name] = status
            case _:
                raise ValueError(f"a gate without name or status: {str(gate)[:80]}")
    return statuses
