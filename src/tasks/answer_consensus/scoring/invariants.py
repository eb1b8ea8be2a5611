"""What every answer of a policy must be, whatever the question; and the longest question."""

from collections.abc import Mapping
from typing import Any

from plumbline.contract.task import Columns, Predictor

ROUNDING = 1e-9
LONGEST = 4096  # characters of each answer of the longest row


def check_answers(
    columns: Columns, params: Mapping[str, Any], answers: Mapping[str, list[Any]]
) -> list[str]:
    """Return what contradicts itself in the answers.

    Nobody is asked twice; the answer is one that an agent gave, with the largest share, which is
    the confidence; shares are probabilities and sum to no more than 1. Where no agent gave an
    answer, there is none and the confidence is 0.
    """
    problems = []
    rows = zip(
        columns["agents"],
        columns["answers"],
        answers["ask"],
        answers["answer"],
        answers["confidence"],
        answers["votes"],
        strict=True,
    )
    for number, (agents, given, ask, answer, confidence, votes) in enumerate(rows):
        problem = _find_problem(list(agents), list(given), ask, answer, confidence, votes)
        if problem:
            problems.append(f"row {number}: {problem}")
    return problems


def build_longest_input(predictor: Predictor) -> dict[str, list[Any]]:
    """Return one question that all agents answered at length, each in another way."""
    agents = list(getattr(predictor, "agents", []))
    answers = [f"{'so it is ' * (LONGEST // 9)}{number}" for number in range(len(agents))]
    return {"agents": [agents], "answers": [answers], "budget": [1e6]}


def _find_problem(
    agents: list[str], given: list[str], ask: Any, answer: Any, confidence: Any, votes: Any
) -> str | None:
    if ask in agents:
        return f"asks {ask}, which has answered"
    shares = [vote["share"] for vote in votes]
    if not all(-ROUNDING <= share <= 1 + ROUNDING for share in [*shares, confidence]):
        return "a share or the confidence is not between 0 and 1"
    if sum(shares) > 1 + ROUNDING:
        return f"the shares sum to {sum(shares):.4f}"
    if not votes:
        if answer or confidence:
            return f"answers {answer!r:.40} with {confidence:.4f}, and no agent gave an answer"
        return None
    if any(vote["answer"] not in given for vote in votes):
        return "a vote is for an answer that no agent gave"
    if answer != votes[0]["answer"] or abs(confidence - shares[0]) > ROUNDING:
        return "the answer and the confidence are not those of the first vote"
    if max(shares) > shares[0] + ROUNDING:
        return "another answer has a larger share"
    return None
