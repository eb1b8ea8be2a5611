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
ORIGINS = ("", "uniform", "chosen")  # of a file; those of labels come last


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


def read_pairs(data: PairData, notices: list[str]) -> Iterator[Pair]:
    """Yield the pairs of the source and of `data.corpus`, then labels of answers.

    Labels that somebody chose are of train. DataError names a row without a query or passage.
    """
    parts = [*_locate_parts(data, data.source)]
    if data.corpus is not None:
        parts += _locate_parts(data, data.corpus)
    for origin, part, columns in sorted(parts, key=lambda found: ORIGINS.index(found[0])):
        split = "train" if origin == "chosen" else ""
        for place, texts in read_texts(part, [*columns.values()], data.max_chars, notices):
            values: dict[str, Any] = dict(zip(columns, texts, strict=True))
            for name in ("query", "passage"):
                if values.get(name) == "":
                    raise DataError(f"{place}: {name} is empty; complete the row, or leave it out")
            yield Pair(place, split=split, is_label=origin != "", **values)


def read_texts(
    part: SourcePart, columns: Sequence[WantedColumn], max_chars: int, notices: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the place of each row, and what it has in the columns: stripped, and cut."""
    for row in part.read_rows(ReadRequest(tuple(columns), refuse_encoding=False, notices=notices)):
        texts = [(value or "").strip()[:max_chars] for value in row.values]
        yield f"{part.name}:{row.number}", texts


def _locate_parts(
    data: PairData, source: str
) -> Iterator[tuple[str, SourcePart, dict[str, WantedColumn]]]:
    """Yield the origin of each part, and its columns by the names in `Pair`."""
    is_corpus = source != data.source
    pins = {name: pin for name, pin in data.sha256.items() if (name == data.corpus) == is_corpus}
    for part in locate_parts([(None, source)], pins):
        label = re.search(WHICH, f"{part.name}:0")
        if label:
            yield label[1], part, _list_columns(data, {"query", "passage"})
        elif is_corpus:
            yield "", part, _list_columns(data, {"passage", "passage_id"})
        else:
            yield "", part, _list_columns(data)


def _list_columns(data: PairData, names: set[str] | None = None) -> dict[str, WantedColumn]:
    named = data.columns.model_dump(include=names, exclude_none=True).items()
    return {
        name: WantedColumn(column, f"data.columns.{name}", SYNONYMS.get(name, ()))
        for name, column in named
    }
