"""Queries into splits, by themselves or by their passages.

By query, the corpus is given, and queries are what is drawn: all of a held-out split count, and an
interval speaks of more queries to these passages. By passage, passages are drawn, and one that is
easy to find is so for all who look for it: one query of each group of passages counts.
"""

from collections.abc import Iterator, Sequence

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS, Columns
from tasks.retrieval.data.judged import find_folder
from tasks.retrieval.data.pooling import Notes, PooledQuery, fold_query
from tasks.retrieval.data.storage import digest_text
from tasks.retrieval.params import QuerySplit, RetrievalParams

HASH_SIZE = 2**64
LEFT_OUT = "{number} held-out queries are left out: another one of their split has the same passage"


def divide_queries(
    queries: Sequence[PooledQuery], split: QuerySplit, notes: Notes
) -> dict[str, list[PooledQuery]]:
    """Divide queries by the digest of their words or of the group of their passages.

    DataError where a split gets none.
    """
    divide = _divide_by_query if split.by == "query" else _divide_by_passage
    divided: dict[str, list[PooledQuery]] = {name: [] for name in (*SPLITS, "")}
    ordered = sorted(queries, key=lambda query: digest_text(fold_query(query.query)))
    for query, name in zip(ordered, divide(ordered, split), strict=True):
        divided[name].append(query)
    for query in divided.pop(""):
        notes[LEFT_OUT].append(query.id)
    for name, rows in divided.items():
        if not rows:
            raise DataError(
                f"{len(queries)} queries leave none for {name}; collect more, or change data.split"
            )
    return divided


def find_splits(params: RetrievalParams, columns: Columns) -> list[str | None]:
    """Return the split of rows with these queries; None where passages or files decide it."""
    texts, data = columns["query"], params.data
    if data.split.by == "passage" or find_folder(data.source):
        return [None] * len(texts)
    return [_choose_split(fold_query(text.strip()[: data.max_chars]), data.split) for text in texts]


def _divide_by_query(queries: Sequence[PooledQuery], split: QuerySplit) -> Iterator[str]:
    """Yield the split that the source names, and one by digest where it names none."""
    given = {query.split for query in queries if query.split}
    shares = split.model_copy(update=dict.fromkeys(given, 0.0))
    for query in queries:
        yield query.split or _choose_split(fold_query(query.query), shares)


def _divide_by_passage(queries: Sequence[PooledQuery], split: QuerySplit) -> Iterator[str]:
    """Yield the split of each query's passages; none where a held-out one has them already."""
    groups = _find_groups(queries)
    held_out: set[str] = set()
    for query in queries:
        group = groups[query.passages[0]]
        name = _choose_split(group, split)
        if name != "train" and (group in held_out or query.split == "train"):
            yield ""
        else:
            held_out.add(group)
            yield name


def _find_groups(queries: Sequence[PooledQuery]) -> dict[str, str]:
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
