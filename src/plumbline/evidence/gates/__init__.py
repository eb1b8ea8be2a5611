"""The questions that a winner must answer before anything may be promoted.

A gate is one function `check_<name>`, an entry of CHECKS, and its texts in gates.yaml. To add one,
write the function in the file of its kind, and add both; where it has more to show than a figure,
also a function in FINDINGS that returns keys of evidence.json. Its figures are withheld of a model
that is not promoted, unless `evidence/withholding.py` names it among those without scores.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from plumbline.evidence.gates import behaviour, comparison, data, doubt, groups, production, quality
from plumbline.evidence.gates.question import Burden, GateQuestion, GateResult, Ruling
from plumbline.evidence.gates.remedies import read_texts

__all__ = ["GATES", "Gate", "GateQuestion", "GateResult", "Ruling", "run_gates"]


class Gate(NamedTuple):
    """One question, who has the burden of its proof, and the function that answers it."""

    name: str
    question: str
    burden: Burden
    check: Callable[[GateQuestion], Ruling]


CHECKS: Mapping[str, Callable[[GateQuestion], Ruling]] = {
    "accepted": data.check_accepted,
    "coverage": data.check_coverage,
    "leakage": data.check_leakage,
    "consistency": data.check_consistency,
    "baselines": quality.check_baselines,
    "bounds": quality.check_bounds,
    "control": quality.check_control,
    "floor": quality.check_floor,
    "test_split": data.check_test_split,
    "champion": comparison.check_champion,
    "slices": comparison.check_slices,
    "groups": groups.check_groups,
    "calibration": production.check_calibration,
    "uncertainty": doubt.check_uncertainty,
    "selective": doubt.check_selective,
    "behaviour": behaviour.check_behaviour,
    "budget": production.check_budget,
    "parity": production.check_parity,
    "export": production.check_export,
    "answers": production.check_answers,
    "replay": production.check_replay,
    "power": comparison.check_power,
}
FINDINGS: Mapping[str, Callable[[GateQuestion], dict[str, Any]]] = {
    "champion": comparison.describe_champion,
    "slices": comparison.describe_slices,
    "groups": groups.describe_groups,
    "uncertainty": doubt.describe_uncertainty,
    "selective": doubt.describe_selective,
    "behaviour": behaviour.describe_tests,
    "parity": production.describe_forms,
    "power": comparison.describe_looks,
}
GATES = tuple(
    Gate(name, said["question"], said["burden"], CHECKS[name])
    for name, said in read_texts().items()
)


def run_gates(question: GateQuestion) -> list[GateResult]:
    """Ask every gate, in the order of GATES; one that cannot be computed fails, with the reason.

    `groups` is asked where params have its section: evidence from before it was there stays valid.
    """
    asked = [gate for gate in GATES if gate.name != "groups" or question.limits.groups]
    return [_run_gate(gate, question) for gate in asked]


def _run_gate(gate: Gate, question: GateQuestion) -> GateResult:
    details: dict[str, Any] = {}
    try:
        if gate.name in FINDINGS:
            details = FINDINGS[gate.name](question)
        ruling = gate.check(question)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        ruling = Ruling("fail", f"cannot be computed: {type(error).__name__}: {error}")
    if ruling.measured is not None and not math.isfinite(ruling.measured):
        ruling = Ruling("fail", f"cannot be computed: measured {ruling.measured}")
    return GateResult(
        **vars(ruling), name=gate.name, question=gate.question, burden=gate.burden, details=details
    )
