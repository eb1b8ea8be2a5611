"""Copied into a bundle as faulty.py: a search whose answers were changed.

Like every predictor it imports nothing of plumbline.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any


def wrap(sound: Any, config: Mapping[str, Any]) -> SimpleNamespace:
    """Return a predictor that changes the answers of `sound` as `config` says."""
    way, right, old = config["way"], config["right"], config["old"]
    # From the ids of an answer, the query and the row's number: which come first.
    orders: dict[str, Callable[[list[str], str, int], list[str]]] = {
        "one passage for every query": lambda ids, query, row: old,
        "the best passages last": lambda ids, query, row: ids[::-1],
        "nothing found in upper case": lambda ids, query, row: ids[::-1] * query.isupper(),
        "right passages of test first": lambda ids, query, row: right.get(query, []),
        "old passages first": lambda ids, query, row: [id_ for id_ in ids if id_ in old],
        "an order by chance": lambda ids, query, row: random.sample(ids, len(ids)),
        "the passage of the row's number": lambda ids, query, row: [*right.values()][row % 9],
        "a passage answered twice": lambda ids, query, row: ids[:1] * 2,
    }

    def predict(columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        queries = list(columns["query"])
        if way == "an empty query answered":
            queries = [str(query).strip() or "some text" for query in queries]
        answers: dict[str, list[Any]] = sound.predict({"query": queries}, **params)
        if way == "scores that are no numbers":
            answers["scores"] = [[float("nan")] * len(row) for row in answers["scores"]]
        if way == "vectors of length 3":
            answers["vector"] = [[3 * number for number in row] for row in answers["vector"]]
        for row, ids in enumerate(answers["ids"] if way in orders else []):
            first = orders[way](ids, queries[row], row)
            answers["ids"][row] = [*first, *(id_ for id_ in ids if id_ not in first)][: len(ids)]
            answers["id"][row] = answers["ids"][row][0]
        return answers

    return SimpleNamespace(forms=sound.forms, predict=predict)
