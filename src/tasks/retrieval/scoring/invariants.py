"""What every answer must be, whatever the query; and the longest query."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plumbline.contract.task import Columns, Predictor

LONGEST = 4000  # characters


def check_answers(
    columns: Columns, params: Mapping[str, Any], answers: Mapping[str, list[Any]]
) -> list[str]:
    """Return what contradicts itself in the answers.

    No passage is answered twice, scores fall, the first id is the answer, a vector has length 1.
    """
    problems = []
    rows = zip(answers["id"], answers["ids"], answers["scores"], answers["vector"], strict=True)
    for row, (id_, ids, scores, vector) in enumerate(rows):
        problem = _find_problem(id_, ids, scores, vector, params.get("top_k", 10))
        if problem:
            problems.append(f"row {row}: {problem}")
    return problems


def build_longest_input(predictor: Predictor) -> dict[str, list[Any]]:
    """Return one query of LONGEST characters."""
    words = "where is the parcel that I sent back to you last week "
    return {"query": [(words * (LONGEST // len(words) + 1))[:LONGEST]]}


def _find_problem(
    id_: str, ids: list[str], scores: list[float], vector: list[float], top_k: int
) -> str | None:
    if len(ids) != len(scores) or len(ids) > top_k:
        return f"{len(ids)} ids and {len(scores)} scores, where {top_k} were asked for"
    if len(set(ids)) < len(ids):
        return "a passage is answered twice"
    if id_ != (ids[0] if ids else ""):
        return "the answer is not the first of the ids"
    if not np.isfinite(scores).all() or (np.diff(scores) > 0).any():
        return "the scores do not fall"
    if vector and not abs(np.linalg.norm(vector) - 1) < 1e-3:
        return "the vector does not have length 1"
    return None
