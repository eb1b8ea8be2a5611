"""From gates to one verdict, and the one file that says why."""

from collections.abc import Sequence
from typing import Literal

from plumbline.evidence.gates import Gate

Verdict = Literal["promote", "refuse"]


def verdict(gates: Sequence[Gate]) -> Verdict:
    """Promote only if gates were asked and none failed; a gate that does not apply says so itself."""
    return "promote" if gates and all(gate.status != "fail" for gate in gates) else "refuse"


def summary(winner: str, gates: Sequence[Gate]) -> str:
    """The verdict in one sentence."""
    failed = [gate.name for gate in gates if gate.status == "fail"]
    if verdict(gates) == "promote":
        passed = sum(gate.status == "pass" for gate in gates)
        other = len(gates) - passed
        return f"{winner} may be promoted: {passed} gates passed" + (f", {other} did not apply." if other else ".")
    return f"{winner} must not be promoted: {', '.join(failed) or 'no gate was asked'} failed."
