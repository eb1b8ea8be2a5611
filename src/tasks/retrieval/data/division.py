"""Queries into splits, by themselves or by their passages.

By query, the corpus is given, and queries are what is drawn: all of a held-out split count, and an
interval speaks of more queries to these passages. By passage, passages are drawn, and one that is
easy to find is so for all who look for it: one query of each group of passages counts.
"""

from collections.abc import Sequence

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS, Columns
from tasks.retrieval.data.judged import find_folder
from tasks.retrieval.data.pairs import PooledQuery, fold_query
from tasks.retrieval.data.storage import digest_text
from tasks.retrieval.params import QuerySplit, RetrievalParams

HASH_SIZE = 2**64


def divide_queries(
    queries: Sequence[PooledQuery], split: QuerySplit, notices: list[str]
) -> dict[str, list[PooledQuery]]:
    """Divide queries by the digest of their text or of the group of their passages.

    By query, one stays in the split that its source names. DataError where a split gets none.
    """
    given = {query.split for query in queries if query.split}
    shares = split.model_copy(update=dict.fromkeys(given, 0.0))
    groups = find_groups(queries)
    divided: dict[str, list[PooledQuery]] = {name: [] for name in SPLITS}
    held_out: set[str] = set()
    num_left_out = 0
    for query in sorted(queries, key=lambda query: digest_text(fold_query(query.query))):
        if split.by == "query":
            divided[query.split or _choose_split(fold_query(query.query), shares)].append(query)
            continue
        group = groups[query.passages[0]]
        name = _choose_split(group, split)
        if name != "train" and (group in held_out or query.split == "train"):
            num_left_out += 1
            continue
        if name != "train":
            held_out.add(group)
        divided[name].append(query)
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


def find_splits(params: RetrievalParams, columns: Columns) -> list[str | None]:
    """Return the split of rows with these queries; None where passages or files decide it."""
    queries, data = columns["query"], params.data
    if data.split.by == "passage" or find_folder(data.source):
        return [None] * len(queries)
    cut = (query.strip()[: data.max_chars] for query in queries)
    return [_choose_split(fold_query(query), data.split) for query in cut]


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
