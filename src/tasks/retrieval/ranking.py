"""How well a list of passages answers a query whose right passages are known."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from plumbline.contract.task import Predictor

CUT = 10  # of nDCG (Järvelin and Kekäläinen 2002)
DEPTH = 100  # passages that each query is answered with


def rank_queries(
    queries: pd.DataFrame, predictor: Predictor
) -> tuple[dict[str, list[Any]], np.ndarray, np.ndarray]:
    """Return the answers to `queries`, the grades of each one's passages, and its nDCG@10.

    ValueError for an answer that has a passage twice.
    """
    answers = predictor.predict({"query": queries["query"].tolist()}, top_k=DEPTH)
    judged = zip(queries["passages"], queries["grades"], strict=True)
    graded = [dict(zip(ids, grades, strict=True)) for ids, grades in judged]
    gains = np.array([mark_gains(*row) for row in zip(answers["ids"], graded, strict=True)])
    return answers, gains, compute_ndcg(gains, graded)


def mark_gains(ids: Sequence[str], grades: Mapping[str, int]) -> np.ndarray:
    """Return the grades of the first DEPTH answers, 0 for those that are not right [DEPTH].

    ValueError where a passage is answered twice: it would count twice.
    """
    if len(set(ids)) < len(ids):
        raise ValueError("an answer has a passage twice")
    gains = np.zeros(DEPTH)
    for place, id_ in enumerate(ids[:DEPTH]):
        gains[place] = grades.get(id_, 0)
    return gains


def compute_ndcg(gains: np.ndarray, graded: Sequence[Mapping[str, int]]) -> np.ndarray:
    """Return nDCG@10 of each query from `gains` [queries, DEPTH]; the best order has 1.

    `graded` are the grades of its passages. The gain is the grade, as in trec_eval.
    """
    weights = 1 / np.log2(np.arange(2, CUT + 2))
    best = [np.sort([*own.values()])[::-1][:CUT] @ weights[: len(own)] for own in graded]
    ndcg: np.ndarray = gains[:, :CUT] @ weights / best
    return ndcg
