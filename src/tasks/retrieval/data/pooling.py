"""What pairs say together: passages to search, and queries with all that is judged for them."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from plumbline.contract.errors import DataError
from tasks.retrieval.data.pairs import Pair
from tasks.retrieval.data.storage import name_passage, read_id
from tasks.retrieval.params import MAX_PASSAGES

STOPS = re.compile(r"[][().,;:!?¿¡\"'\u2019“”«»…]|-(?!\d)")  # not + # < > -5: C++ and C# are two
ELSEWHERE = (
    "{number} judgements and chosen labels are left out, as another split has their query: test "
    "comes first, then validation, then the source"
)
ALIKE = "{number} queries differ from an earlier one only in capitals or punctuation: they are one"
REPEATED = "{number} passages have the text of another one, whose id counts"
UNKNOWN = (
    "{number} labels of answers are neither an id nor a known text: each became a passage, such as "
    "{first!r:.60}"
)
Notes = defaultdict[str, list[str]]  # what was found, by its sentence


@dataclass
class PooledQuery:
    """A query, and the grades of all passages that are judged for it."""

    id: str
    query: str
    topic: str
    grades: dict[str, int] = field(default_factory=dict)  # by id; 0: it does not answer the query
    split: str = ""  # empty: it is divided

    @property
    def passages(self) -> list[str]:
        """The ids of the passages that answer it."""
        return list(filter(self.grades.get, self.grades))

    def list_values(self) -> dict[str, Any]:
        """List what `read_queries` says of it."""
        values = {"id": self.id, "query": self.query, "topic": self.topic}
        grades = list(filter(None, self.grades.values()))
        negatives = sorted(self.grades.keys() - self.passages)
        return values | {"passages": self.passages, "grades": grades, "negatives": negatives}


def pool_pairs(pairs: Iterable[Pair], notes: Notes) -> tuple[dict[str, str], list[PooledQuery]]:
    """Return the texts of all passages by their ids, and all queries that one of them answers.

    Equal texts are one passage, and queries of equal words one query. DataError where an id has two
    texts.
    """
    passages = PassagePool(notes)
    queries: dict[str, PooledQuery] = {}
    for pair in pairs:
        grades = {passages.add(pair.negative): 0} if pair.negative else {}
        grades[passages.add_answer(pair)] = pair.grade
        if pair.query:
            _add_grades(queries, pair, grades, notes)
    num_passages = len(passages.texts)
    if not 2 <= num_passages <= MAX_PASSAGES:
        raise DataError(
            f"{num_passages:,} different passages; a model searches 2 to {MAX_PASSAGES:,}"
        )
    return passages.texts, [query for query in queries.values() if query.passages]


class PassagePool:
    """Passages by their ids."""

    def __init__(self, notes: Notes) -> None:
        self.texts: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._named: dict[str, str] = {}  # the id of each, and of those in place of which it is
        self._notes = notes

    def add(self, text: str, own_id: str = "", place: str = "") -> str:
        """Return the id of a text: that of an equal one, its own, or one made of it."""
        id_ = self._ids.setdefault(text, own_id or name_passage(text))
        if self.texts.setdefault(id_, text) != text:
            raise DataError(f"{place}: the passage {id_} has another text in an earlier row")
        self._named[own_id or id_] = id_
        if own_id not in ("", id_):
            self._notes[REPEATED].append(own_id)
        return id_

    def add_answer(self, pair: Pair) -> str:
        """Return the id of a pair's passage; a label may be the id itself."""
        text = pair.passage
        if not pair.is_label:
            return self.add(text, pair.passage_id, pair.place)
        for name in (text, read_id(text)):
            if name in self._named:
                return self._named[name]
        if text not in self._ids:
            self._notes[UNKNOWN].append(text)
        return self.add(text)


def _add_grades(
    queries: dict[str, PooledQuery], pair: Pair, grades: dict[str, int], notes: Notes
) -> None:
    """Add grades to the query of a pair, the highest of each; not where another split has it."""
    new = PooledQuery(pair.place, pair.query, pair.topic, split=pair.split)
    query = queries.setdefault(fold_query(pair.query), new)
    if query.split != pair.split:
        notes[ELSEWHERE].append(pair.place)
        return
    if query.query != pair.query:
        notes[ALIKE].append(pair.place)
    for id_, grade in grades.items():
        query.grades[id_] = max(grade, query.grades.get(id_, 0))


def fold_query(query: str) -> str:
    """Return what two queries have in common that are one: all but case, blanks and stops."""
    plain = unicodedata.normalize("NFKC", query).casefold()
    return " ".join(STOPS.sub(" ", plain).split()) or query.strip()
