"""What every answer must be, whatever the sequence; and the longest sequence."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plumbline.contract.task import Columns, Predictor
from tasks.sequence_bayes.predictor import compute_entropy

# A longer sequence is answered too: the model looks at its end.
LONGEST = 512  # symbols
TOLERANCE = 1e-6


def check_answers(
    columns: Columns, params: Mapping[str, Any], answers: Mapping[str, list[Any]]
) -> list[str]:
    """Return what contradicts itself in the answers.

    Probabilities are from 0 to 1 and their sum is 1; the entropy is theirs; the epistemic part of
    the doubt is one number from 0 on where rollouts are asked for, and none else; where all
    positions are asked for, the last of them is the answer.
    """
    problems = []
    for row, sequence in enumerate(columns["sequence"]):
        answer = {name: values[row] for name, values in answers.items()}
        problem = _check_row(sequence, params, answer)
        if problem:
            problems.append(f"row {row}: {problem}")
    return problems


def build_longest_input(predictor: Predictor) -> dict[str, list[Any]]:
    """Return one sequence of LONGEST symbols, of all that the predictor knows in turn."""
    num_symbols = int(getattr(predictor, "num_symbols", 2))
    return {"sequence": [[place % num_symbols for place in range(LONGEST)]]}


def _check_row(sequence: Any, params: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    probabilities = np.array(answer["probabilities"], dtype=float)
    if not (np.isfinite(probabilities).all() and (probabilities >= 0).all()):
        return "a probability is negative or not finite"
    if abs(probabilities.sum() - 1) > TOLERANCE:
        return f"the sum of probabilities is {probabilities.sum():.8f}"
    entropy = float(compute_entropy(probabilities))
    if abs(entropy - answer["entropy"]) > TOLERANCE:
        return f"entropy {answer['entropy']:.6f}, that of its probabilities is {entropy:.6f}"
    if answer["symbols_used"] > len(sequence):
        return f"{answer['symbols_used']} symbols used of {len(sequence)}"
    epistemic = answer["epistemic"]
    if len(epistemic) != min(1, params.get("rollouts", 0)):
        return f"epistemic: {len(epistemic)} numbers for {params.get('rollouts', 0)} rollouts"
    if len(epistemic) and not 0 <= epistemic[0] <= np.log(len(probabilities)) + TOLERANCE:
        return f"epistemic {epistemic[0]:.6f} is outside the range of an entropy"
    if params.get("all_positions") and not np.allclose(answer["predictive"][-1], probabilities):
        return "the last of all positions is another answer"
    return None
