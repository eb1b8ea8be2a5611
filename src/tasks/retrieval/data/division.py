"""Queries into splits; of a held-out split no two queries have a passage in common.

Intervals assume independent rows, and an article that is easy to find is so for all who look for
it. So one query of each group counts, and the others are left to train, where that shows nothing of
what is held out.
"""

from collections.abc import Sequence

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from tasks.retrieval.data.pairs import PooledQuery
from tasks.retrieval.data.storage import digest_text
from tasks.retrieval.params import QuerySplit

HASH_SIZE = 2**64


def divide_queries(
    queries: Sequence[PooledQuery], split: QuerySplit, notices: list[str]
) -> dict[str, list[PooledQuery]]:
    """Divide queries by the digest of their text or of the group of their passages.

    By query, one stays in the split that its source names. DataError where a split gets none.
    """
    is_by_query = split.by == "query"
    given = {query.split for query in queries if is_by_query and query.split}
    split = split.model_copy(update=dict.fromkeys(given, 0.0))
    groups = find_groups(queries)
    divided: dict[str, list[PooledQuery]] = {name: [] for name in SPLITS}
    seen: set[tuple[str, str]] = set()
    num_left_out = 0
    for query in sorted(queries, key=lambda query: digest_text(query.query)):
        group = groups[query.passages[0]]
        name = _choose_split(query.query if is_by_query else group, split)
        is_wanted = name == "train" or query.split != "train"
        if query.split and is_by_query:
            name, is_wanted = query.split, True
        is_counted = is_wanted and (name == "train" or (name, group) not in seen)
        seen.add((name, group))
        if is_counted:
            divided[name].append(query)
        elif is_by_query and not query.split:
            divided["train"].append(query)
        else:
            num_left_out += 1
    for name, rows in divided.items():
        if not rows:
            raise DataError(
                f"{len(queries)} queries leave none for {name}; collect more, or change data.split"
            )
    if num_left_out:
        notices.append(
            f"{num_left_out} held-out queries are left out: another one of their split has the "
            "same passage"
        )
    return divided


def find_groups(queries: Sequence[PooledQuery]) -> dict[str, str]:
    """Map the id of each passage to the first id of its group: passages that queries connect."""
    first: dict[str, str] = {}

    def find(id_: str) -> str:
        while first.setdefault(id_, id_) != id_:
            id_ = first[id_]
        return id_

    for query in queries:
        for passage in query.passages:
            one, other = sorted((find(query.passages[0]), find(passage)))
            first[other] = one
    return {id_: find(id_) for id_ in first}


def _choose_split(key: str, split: QuerySplit) -> str:
    point = int(digest_text(key)[:16], 16) / HASH_SIZE
    if point < split.test:
        return "test"
    return "validation" if point < split.test + split.validation else "train"
