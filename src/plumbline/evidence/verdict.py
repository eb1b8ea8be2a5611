"""From gates to one verdict, and what follows from it."""

from collections.abc import Sequence
from typing import Literal

from plumbline.evidence.gates import Gate

Verdict = Literal["promote", "keep", "refuse"]

EXIT_CODES = {
    "promote": 0,
    "keep": 10,
    "refuse": 20,
    "error": 1,
}  # error: no verdict could be reached


def verdict(gates: Sequence[Gate]) -> Verdict:
    """Refuse if a gate failed or none was asked; keep the champion if only it was not beaten; else promote."""
    failed = {gate.name for gate in gates if gate.status == "fail"}
    if not gates or failed - {"champion"}:
        return "refuse"
    return "keep" if failed else "promote"


def summary(winner: str, gates: Sequence[Gate]) -> str:
    """The verdict in one sentence."""
    failed = [gate.name for gate in gates if gate.status == "fail"]
    passed = sum(gate.status == "pass" for gate in gates)
    other = len(gates) - passed - len(failed)
    apart = f", {other} did not apply" if other else ""
    match verdict(gates):
        case "promote":
            return f"{winner} may be promoted: {passed} gates passed{apart}."
        case "keep":
            return f"{winner} is sound, but the champion stays: {passed} gates passed{apart}, champion did not."
        case "refuse":
            return (
                f"{winner} must not be promoted: {', '.join(failed) or 'no gate was asked'} failed."
            )
