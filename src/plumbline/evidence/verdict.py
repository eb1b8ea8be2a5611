"""From gates to one verdict, and what follows from it."""

from collections.abc import Sequence
from typing import Literal

from plumbline.evidence.gates import GateResult

Verdict = Literal["promote", "keep", "refuse"]

# error: no verdict could be reached
EXIT_CODES = {"promote": 0, "keep": 10, "refuse": 20, "error": 1}


def decide_verdict(gates: Sequence[GateResult]) -> Verdict:
    """Decide from what the gates answered.

    refuse: a gate failed, or none was asked; keep: only the gate `champion` failed; promote: none.
    """
    failed = {gate.name for gate in gates if gate.status == "fail"}
    if not gates or failed - {"champion"}:
        return "refuse"
    return "keep" if failed else "promote"


def summarise_verdict(winner: str, gates: Sequence[GateResult]) -> str:
    """Say the verdict in one sentence."""
    failed = [gate.name for gate in gates if gate.status == "fail"]
    num_passed = sum(gate.status == "pass" for gate in gates)
    num_other = len(gates) - num_passed - len(failed)
    passed = f"{num_passed} gates passed"
    if num_other:
        passed += f", {num_other} did not apply"
    match decide_verdict(gates):
        case "promote":
            return f"{winner} may be promoted: {passed}."
        case "keep":
            return f"{winner} is sound, but the champion stays: {passed}, champion did not."
        case "refuse":
            reason = ", ".join(failed) or "no gate was asked"
            return f"{winner} must not be promoted: {reason} failed."
