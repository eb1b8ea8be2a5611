"""The questions that a winner must answer before anything may be promoted.

A gate is one function `check_<name>` and one row of GATES. To add one, write the function in the
file of its kind, and add the row; where it has more to show than a figure, also a function that
returns keys of evidence.json. What it computes of measurements is in `question.py`. Its figures
are withheld of a model that is not promoted, unless `evidence/withholding.py` names it among those
without scores.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from plumbline.evidence.gates import behaviour, comparison, data, doubt, production, quality
from plumbline.evidence.gates.question import Burden, GateQuestion, GateResult, Ruling

__all__ = ["GATES", "Gate", "GateQuestion", "GateResult", "Ruling", "run_gates"]

# Who has to prove what; see `Burden`.
HOLD: Burden = "must hold"
SHOWN: Burden = "must be shown"
NOT_DISPROVED: Burden = "must not be disproved"


class Gate(NamedTuple):
    """One question, who has the burden of its proof, and the function that answers it."""

    name: str
    question: str
    burden: Burden
    check: Callable[[GateQuestion], Ruling]
    describe: Callable[[GateQuestion], dict[str, Any]] = lambda _: {}  # what it found


GATES = (
    Gate("accepted", "Was exactly this data validated?", HOLD, data.check_accepted),
    Gate("coverage", "Does every split hold every class?", HOLD, data.check_coverage),
    Gate(
        "leakage",
        "Do examples cross from one split into another?",
        NOT_DISPROVED,
        data.check_leakage,
    ),
    Gate(
        "consistency",
        "Do test and validation agree on the score?",
        NOT_DISPROVED,
        data.check_consistency,
    ),
    Gate("baselines", "Is it better than doing almost nothing?", SHOWN, quality.check_baselines),
    Gate("bounds", "Is it too good to be true?", NOT_DISPROVED, quality.check_bounds),
    Gate(
        "control",
        "Does it learn from anything it should not?",
        NOT_DISPROVED,
        quality.check_control,
    ),
    Gate("floor", "Is it good enough?", SHOWN, quality.check_floor),
    Gate("test_split", "Is it the test split of the champion?", HOLD, data.check_test_split),
    Gate(
        "champion",
        "Is it better than the champion?",
        SHOWN,
        comparison.check_champion,
        comparison.describe_champion,
    ),
    Gate(
        "slices",
        "Is any group harmed?",
        NOT_DISPROVED,
        comparison.check_slices,
        comparison.describe_slices,
    ),
    Gate(
        "calibration",
        "Do its probabilities mean anything?",
        NOT_DISPROVED,
        production.check_calibration,
    ),
    Gate(
        "uncertainty",
        "Does its doubt point at its errors?",
        NOT_DISPROVED,
        doubt.check_uncertainty,
        doubt.describe_uncertainty,
    ),
    Gate(
        "selective",
        "Where it answers, is it wrong as rarely as stated?",
        SHOWN,
        doubt.check_selective,
        doubt.describe_selective,
    ),
    Gate(
        "behaviour",
        "Does it know the obvious?",
        NOT_DISPROVED,
        behaviour.check_behaviour,
        behaviour.describe_tests,
    ),
    Gate("budget", "Can it be run in production?", NOT_DISPROVED, production.check_budget),
    Gate(
        "parity",
        "Does the form that is served answer as the one that was trained?",
        NOT_DISPROVED,
        production.check_parity,
        production.describe_forms,
    ),
    Gate(
        "export",
        "Is the graph that answers the model that was trained?",
        NOT_DISPROVED,
        production.check_export,
    ),
    Gate("answers", "Does every answer agree with itself?", HOLD, production.check_answers),
    Gate("replay", "Is what is packaged what was measured?", HOLD, production.check_replay),
    Gate(
        "power",
        "Can this test split tell?",
        SHOWN,
        comparison.check_power,
        comparison.describe_looks,
    ),
)


def run_gates(question: GateQuestion) -> list[GateResult]:
    """Ask every gate, in the order of GATES; one that cannot be computed fails, with the reason."""
    return [_run_gate(gate, question) for gate in GATES]


def _run_gate(gate: Gate, question: GateQuestion) -> GateResult:
    details: dict[str, Any] = {}
    try:
        details = gate.describe(question)
        ruling = gate.check(question)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        ruling = Ruling("fail", f"cannot be computed: {type(error).__name__}: {error}")
    if ruling.measured is not None and not math.isfinite(ruling.measured):
        ruling = Ruling("fail", f"cannot be computed: measured {ruling.measured}")
    return GateResult(
        **vars(ruling),
        name=gate.name,
        question=gate.question,
        burden=gate.burden,
        details=details,
    )
