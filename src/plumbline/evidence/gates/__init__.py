"""The questions that a winner must answer before anything may be promoted.

A gate is one function `check_<name>` and one row of GATES. To add one, write the function in the
file of its kind, add what it reads to `findings.py`, and add the row. Its figures are withheld of a
model that is not promoted, unless `evidence/withholding.py` names it among those without scores.
"""

import math
from collections.abc import Callable

from plumbline.evidence.gates import comparison, data, doubt, held_out, production, quality
from plumbline.evidence.gates.findings import Findings, GateResult, Ruling

__all__ = ["GATES", "Findings", "GateResult", "Ruling", "run_gates"]

GATES: tuple[tuple[str, str, Callable[[Findings], Ruling]], ...] = (
    ("accepted", "Was exactly this data validated?", data.check_accepted),
    ("coverage", "Does every split hold every class?", data.check_coverage),
    ("leakage", "Do examples cross from one split into another?", data.check_leakage),
    ("consistency", "Do test and validation agree on the score?", data.check_consistency),
    ("baselines", "Is it better than doing almost nothing?", quality.check_baselines),
    ("bounds", "Is it too good to be true?", quality.check_bounds),
    ("control", "Does it learn from anything it should not?", quality.check_control),
    ("floor", "Is it good enough?", quality.check_floor),
    ("test_split", "Is it the test split of the champion?", held_out.check_test_split),
    ("champion", "Is it better than the champion?", comparison.check_champion),
    ("slices", "Is any group harmed?", comparison.check_slices),
    ("calibration", "Do its probabilities mean anything?", production.check_calibration),
    ("uncertainty", "Does its doubt point at its errors?", doubt.check_uncertainty),
    ("selective", "Where it answers, is it wrong as rarely as stated?", doubt.check_selective),
    ("behaviour", "Does it know the obvious?", production.check_behaviour),
    ("budget", "Can it be run in production?", production.check_budget),
    (
        "parity",
        "Does the form that is served answer as the one that was trained?",
        production.check_parity,
    ),
    ("export", "Is the graph that answers the model that was trained?", production.check_export),
    ("answers", "Does every answer agree with itself?", production.check_answers),
    ("replay", "Is what is packaged what was measured?", production.check_replay),
    ("power", "Can this test split tell?", comparison.check_power),
)


def run_gates(findings: Findings) -> list[GateResult]:
    """Ask every gate, in the order of GATES; one that cannot be computed fails, with the reason."""
    return [_run_gate(name, question, check, findings) for name, question, check in GATES]


def _run_gate(
    name: str, question: str, check: Callable[[Findings], Ruling], findings: Findings
) -> GateResult:
    try:
        ruling = check(findings)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        ruling = Ruling("fail", f"cannot be computed: {type(error).__name__}: {error}")
    if ruling.measured is not None and not math.isfinite(ruling.measured):
        ruling = Ruling("fail", f"cannot be computed: measured {ruling.measured}")
    return GateResult(
        name=name,
        question=question,
        status=ruling.status,
        measured=ruling.measured,
        threshold=ruling.threshold,
        interval=ruling.interval,
        reason=ruling.reason,
    )
