"""Pairs as they are in the source, and what they say together: a corpus, and queries."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from plumbline.contract.errors import DataError
from plumbline.sources.parts import locate_parts
from plumbline.tables.records import ReadRequest, SourceRow, WantedColumn
from tasks.retrieval.data.storage import Corpus, digest_text
from tasks.retrieval.params import MAX_PASSAGES, PairData

QUERY_SYNONYMS = ("question", "anchor", "search", "title", "sentence1", "text")
PASSAGE_SYNONYMS = ("positive", "answer", "document", "context", "pos", "text", "sentence2")
LEAST_WORDS = (3, 8)  # shorter queries are `short`, others `medium` or `long`


@dataclass(frozen=True)
class Pair:
    """A query and a passage that answers it; a passage of the corpus alone has no query."""

    place: str
    query: str
    passage: str
    passage_id: str  # empty: that of its text
    topic: str  # empty where the source has none


@dataclass
class PooledQuery:
    """A query with all passages that answer it."""

    id: str
    query: str
    topic: str
    passages: list[str] = field(default_factory=list)  # their ids


@dataclass(frozen=True)
class Pool:
    """All that the pairs say: what is searched, and what is asked."""

    corpus: Corpus
    queries: list[PooledQuery]


def read_pairs(data: PairData, notices: list[str]) -> Iterator[Pair]:
    """Yield the pairs of the source, then the passages of `data.corpus`.

    DataError names a row without a query or passage.
    """
    columns = data.columns
    passage = WantedColumn(columns.passage, "data.columns.passage", PASSAGE_SYNONYMS)
    query = WantedColumn(columns.query, "data.columns.query", QUERY_SYNONYMS)
    wanted = [passage]
    if columns.passage_id is not None:
        wanted.append(WantedColumn(columns.passage_id, "data.columns.passage_id"))
    sources = [(data.source, [query])]
    if data.corpus is not None:
        sources.append((data.corpus, []))
    if columns.topic is not None:
        sources[0][1].append(WantedColumn(columns.topic, "data.columns.topic"))
    for source, more in sources:
        request = ReadRequest((*wanted, *more), refuse_encoding=False, notices=notices)
        names = ["passage", "passage_id", "query", "topic"]
        if columns.passage_id is None:
            names.remove("passage_id")
        for part in locate_parts([(None, source)], data.sha256):
            for row in part.read_rows(request):
                yield _read_pair(f"{part.name}:{row.number}", row, names, bool(more), data)


def pool_pairs(pairs: Iterable[Pair], notices: list[str]) -> Pool:
    """Bring the pairs together: equal queries are one, and so are equal passages.

    Passages are in the order of their ids. DataError where an id has two texts.
    """
    id_of_text: dict[str, str] = {}
    text_of_id: dict[str, str] = {}
    queries: dict[str, PooledQuery] = {}
    num_repeated = 0
    for pair in pairs:
        own = pair.passage_id or digest_text(pair.passage)[:16]
        id_ = id_of_text.setdefault(pair.passage, own)
        if text_of_id.setdefault(id_, pair.passage) != pair.passage:
            raise DataError(f"{pair.place}: the passage {id_} has another text in an earlier row")
        num_repeated += id_ != own
        if not pair.query:
            continue
        key = " ".join(pair.query.casefold().split())
        query = queries.setdefault(key, PooledQuery(pair.place, pair.query, pair.topic))
        if id_ not in query.passages:
            query.passages.append(id_)
    if num_repeated:
        notices.append(f"{num_repeated} passages have the text of another one, whose id counts")
    if not 2 <= len(text_of_id) <= MAX_PASSAGES:
        raise DataError(
            f"{len(text_of_id):,} different passages; a model searches 2 to {MAX_PASSAGES:,}"
        )
    ids = sorted(text_of_id)
    return Pool(Corpus(ids, [text_of_id[id_] for id_ in ids]), list(queries.values()))


def name_length(query: str) -> str:
    """Name the length of a query in words: short, medium or long."""
    num_words = len(query.split())
    if num_words < LEAST_WORDS[0]:
        return "short"
    return "medium" if num_words < LEAST_WORDS[1] else "long"


def _read_pair(
    place: str, row: SourceRow, names: list[str], has_query: bool, data: PairData
) -> Pair:
    values = dict(zip(names, row.values, strict=False))
    cut = {name: (value or "").strip()[: data.max_chars] for name, value in values.items()}
    for name in ("passage", "query") if has_query else ("passage",):
        if not cut[name]:
            raise DataError(f"{place}: {name} is empty; complete the row, or leave it out")
    return Pair(
        place=place,
        query=cut["query"] if has_query else "",
        passage=cut["passage"],
        passage_id=cut.get("passage_id", ""),
        topic=cut.get("topic", ""),
    )
