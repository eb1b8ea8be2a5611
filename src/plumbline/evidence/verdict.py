"""From gates to one verdict, and what follows from it."""

from collections.abc import Mapping, Sequence

from plumbline.contract.verdict import decide_verdict
from plumbline.evidence.gates import GateResult
from plumbline.evidence.gates.limits import describe_loosened

# error: no verdict could be reached
EXIT_CODES = {"promote": 0, "keep": 10, "refuse": 20, "error": 1}


def summarise_verdict(
    winner: str, gates: Sequence[GateResult], loosened: Mapping[str, str] | None = None
) -> str:
    """Say the verdict in one sentence, and in another which limits are loosened."""
    return f"{_summarise_gates(winner, gates)} {describe_loosened(loosened or {})}".strip()


def _summarise_gates(winner: str, gates: Sequence[GateResult]) -> str:
    failed = [gate.name for gate in gates if gate.status == "fail"]
    num_passed = sum(gate.status == "pass" for gate in gates)
    num_other = len(gates) - num_passed - len(failed)
    passed = f"{num_passed} gates passed"
    if num_other:
        passed += f", {num_other} did not apply"
    match decide_verdict({gate.name: gate.status for gate in gates}):
        case "promote":
            return f"{winner} may be promoted: {passed}."
        case "keep":
            return f"{winner} is sound, but the champion stays: {passed}, champion failed."
        case "refuse":
            reason = ", ".join(failed) or "no gate was asked"
            return f"{winner} must not be promoted: {reason} failed."
