"""Pairs as they are in the source, and what they say together: a corpus, and queries."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from plumbline.contract.errors import DataError
from plumbline.sources.labelled_requests import WHICH
from plumbline.sources.parts import locate_parts
from plumbline.tables.records import ReadRequest, SourceRow, WantedColumn
from tasks.retrieval.data.storage import ID_LETTERS, Corpus, digest_text, read_id
from tasks.retrieval.params import MAX_PASSAGES, PairData

QUERY_SYNONYMS = ("question", "anchor", "search", "title", "sentence1", "text")
PASSAGE_SYNONYMS = ("positive", "answer", "document", "context", "pos", "text", "sentence2")
STOPS = re.compile(r"[][().,;:!?¿¡\"'\u2019“”«»…]|-(?!\d)")  # not + # < > -5: C++ and C# are two
LABELLED = re.compile(WHICH)
ORIGINS = (None, "uniform", "chosen")
LEAST_WORDS = (3, 8)  # shorter queries are `short`, others `medium` or `long`


@dataclass(frozen=True)
class Pair:
    """A query and a passage that answers it; a passage of the corpus alone has no query."""

    place: str
    query: str
    passage: str
    passage_id: str  # empty: that of its text
    topic: str = ""  # empty where the source has none
    negative: str = ""  # a passage that does not answer the query
    grade: int = 1  # 0: the passage does not answer the query; the higher, the better it does
    split: str = ""  # that the source names


@dataclass
class PooledQuery:
    """A query with all passages that answer it, by their ids."""

    id: str
    query: str
    topic: str
    passages: list[str] = field(default_factory=list)
    grades: list[int] = field(default_factory=list)  # of the passages; the higher, the better
    negatives: list[str] = field(default_factory=list)  # passages that do not answer it
    split: str = ""  # empty: it is divided

    def add(self, passage: str, grade: int) -> None:
        """Add a passage; of several grades the highest counts, and 0 is a negative."""
        if not grade:
            self.negatives.append(passage)
        elif passage in self.passages:
            place = self.passages.index(passage)
            self.grades[place] = max(grade, self.grades[place])
        else:
            self.passages.append(passage)
            self.grades.append(grade)


def read_pairs(data: PairData, notices: list[str]) -> Iterator[Pair]:
    """Yield the pairs of the source, then the passages of `data.corpus`.

    DataError names a row without a query or passage.
    """
    columns = data.columns
    passage = WantedColumn(columns.passage, "data.columns.passage", PASSAGE_SYNONYMS)
    query = WantedColumn(columns.query, "data.columns.query", QUERY_SYNONYMS)
    own = {
        name: WantedColumn(column, f"data.columns.{name}")
        for name in ("passage_id", "topic", "negative")
        if (column := getattr(columns, name)) is not None
    }
    of_corpus = {name: column for name, column in own.items() if name == "passage_id"}
    sources = [(data.source, {"query": query, "passage": passage} | own)]
    if data.corpus is not None:
        sources.append((data.corpus, {"passage": passage} | of_corpus))
    for source, known in sources:
        for part in locate_parts([(None, source)], data.sha256):
            is_labelled = LABELLED.search(f"{part.name}:0") is not None
            wanted = {"query": query, "passage": passage} if is_labelled else known
            request = ReadRequest(tuple(wanted.values()), refuse_encoding=False, notices=notices)
            for row in part.read_rows(request):
                yield _read_pair(f"{part.name}:{row.number}", row, list(wanted), data)


def pool_pairs(pairs: Iterable[Pair], notices: list[str]) -> tuple[Corpus, list[PooledQuery]]:
    """Bring the pairs together: queries of equal words are one, and so are equal passages.

    Passages are in the order of their ids. Labels of answers come last: theirs may be the id of a
    passage, and those that somebody chose add queries to train alone. DataError where an id has two
    texts.
    """
    id_of_text: dict[str, str] = {}
    text_of_id: dict[str, str] = {}
    queries: dict[str, PooledQuery] = {}
    repeated: set[str] = set()
    added: list[str] = []
    num_elsewhere = num_alike = 0
    for pair in sorted(pairs, key=lambda pair: ORIGINS.index(_name_origin(pair))):
        origin = _name_origin(pair)
        own = pair.passage_id or digest_text(pair.passage)[:ID_LETTERS]
        meant = pair.passage if pair.passage in text_of_id else read_id(pair.passage)
        if origin and meant in text_of_id:
            id_ = own = meant
        else:
            if origin and pair.passage not in id_of_text:
                added.append(pair.passage)
            id_ = id_of_text.setdefault(pair.passage, own)
            if text_of_id.setdefault(id_, pair.passage) != pair.passage:
                raise DataError(
                    f"{pair.place}: the passage {id_} has another text in an earlier row"
                )
        if id_ != own and not origin:
            repeated.add(own)
        split = "train" if origin == "chosen" else pair.split
        new = PooledQuery(pair.place, pair.query, pair.topic, split=split)
        key = fold_query(pair.query)
        query = queries.setdefault(key, new) if key else new
        if not key or split != query.split:
            num_elsewhere += key != ""
            continue
        num_alike += query.query != pair.query
        query.add(id_, pair.grade)
        if pair.negative:
            own = digest_text(pair.negative)[:ID_LETTERS]
            query.negatives.append(id_of_text.setdefault(pair.negative, own))
            text_of_id.setdefault(query.negatives[-1], pair.negative)
    if num_elsewhere:
        notices.append(
            f"{num_elsewhere} judgements and chosen labels of queries that another split has are "
            "left out: a query has those of test, else of validation, else of the source"
        )
    if num_alike:
        notices.append(
            f"{num_alike} queries differ from an earlier one in case and stops alone: they are one"
        )
    if added:
        notices.append(
            f"{len(added)} passages are labels of answers that are no id and no known text, such "
            f"as {added[0]!r:.60}"
        )
    if repeated:
        notices.append(f"{len(repeated)} passages have the text of another one, whose id counts")
    if not 2 <= len(text_of_id) <= MAX_PASSAGES:
        raise DataError(
            f"{len(text_of_id):,} different passages; a model searches 2 to {MAX_PASSAGES:,}"
        )
    ids = sorted(text_of_id)
    asked = [query for query in queries.values() if query.passages]
    for query in asked:
        query.negatives = sorted({*query.negatives} - {*query.passages})
    return Corpus(ids, [text_of_id[id_] for id_ in ids]), asked


def fold_query(query: str) -> str:
    """Return what two queries have in common that are one: all but case, blanks and stops."""
    plain = unicodedata.normalize("NFKC", query).casefold()
    return " ".join(STOPS.sub(" ", plain).split()) or query.strip()


def name_length(query: str) -> str:
    """Name the length of a query in words: short, medium or long."""
    num_words = len(query.split())
    if num_words < LEAST_WORDS[0]:
        return "short"
    return "medium" if num_words < LEAST_WORDS[1] else "long"


def _name_origin(pair: Pair) -> str | None:
    """Return `uniform` or `chosen` for the label of an answer, None for other pairs."""
    found = LABELLED.search(pair.place)
    return found and found[1]


def _read_pair(place: str, row: SourceRow, names: list[str], data: PairData) -> Pair:
    values = dict(zip(names, row.values, strict=True))
    cut = {name: (value or "").strip()[: data.max_chars] for name, value in values.items()}
    for name in ("passage", "query"):
        if not cut.get(name, "?"):
            raise DataError(f"{place}: {name} is empty; complete the row, or leave it out")
    query, id_ = cut.get("query", ""), cut.get("passage_id", "")
    topic, negative = cut.get("topic", ""), cut.get("negative", "")
    return Pair(place, query, cut["passage"], id_, topic, negative)
