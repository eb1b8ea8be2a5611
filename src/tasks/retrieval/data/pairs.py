"""Pairs as they are in the source, and labels of answers that came back."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.sources.labelled_requests import WHICH
from plumbline.sources.parts import locate_parts
from plumbline.sources.source_part import SourcePart
from plumbline.tables.records import ReadRequest, WantedColumn
from tasks.retrieval.params import PairData

SYNONYMS = {
    "query": ("question", "anchor", "search", "title", "sentence1", "text"),
    "passage": ("positive", "answer", "document", "context", "pos", "text", "sentence2"),
}


@dataclass(frozen=True)
class Pair:
    """A query and a passage that answers it; a passage of the corpus alone has no query."""

    place: str
    passage: str
    query: str = ""
    passage_id: str = ""  # empty: that of its text
    topic: str = ""
    negative: str = ""  # a passage that does not answer the query
    grade: int = 1  # 0: the passage does not answer the query; the higher, the better it does
    split: str = ""  # that the source names
    is_label: bool = False  # of an answer: the passage may be an id of one


def read_pairs(data: PairData, notices: list[str]) -> list[Pair]:
    """List the pairs of the source and of `data.corpus`, then labels of answers.

    Labels that somebody chose are of train, and come last. DataError names a row without a query or
    passage.
    """
    pairs = [*_read_source(data, data.source, notices)]
    if data.corpus is not None:
        pairs += _read_source(data, data.corpus, notices)
    return sorted(pairs, key=lambda pair: (pair.is_label, pair.split))


def read_texts(
    part: SourcePart, columns: Sequence[WantedColumn], max_chars: int, notices: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the place of each row, and what it has in the columns: stripped, and cut."""
    for row in part.read_rows(ReadRequest(tuple(columns), refuse_encoding=False, notices=notices)):
        texts = [(value or "").strip()[:max_chars] for value in row.values]
        yield f"{part.name}:{row.number}", texts


def _read_source(data: PairData, source: str, notices: list[str]) -> Iterator[Pair]:
    """Yield the pairs of one address; a corpus has no queries, and its own pin."""
    is_corpus = source == data.corpus
    own = {"passage", "passage_id"} if is_corpus else None
    pins = {name: pin for name, pin in data.sha256.items() if (name == data.corpus) == is_corpus}
    for part in locate_parts([(None, source)], pins):
        label = re.search(WHICH, f"{part.name}:0")
        split = "train" if label and label[1] == "chosen" else ""
        columns = _list_columns(data, {"query", "passage"} if label else own)
        for place, texts in read_texts(part, [*columns.values()], data.max_chars, notices):
            values: dict[str, Any] = dict(zip(columns, texts, strict=True))
            for name in ("query", "passage"):
                if values.get(name) == "":
                    raise DataError(f"{place}: {name} is empty; complete the row, or leave it out")
            yield Pair(place, split=split, is_label=label is not None, **values)


def _list_columns(data: PairData, names: set[str] | None) -> dict[str, WantedColumn]:
    named = data.columns.model_dump(include=names, exclude_none=True).items()
    return {
        name: WantedColumn(column, f"data.columns.{name}", SYNONYMS.get(name, ()))
        for name, column in named
    }
