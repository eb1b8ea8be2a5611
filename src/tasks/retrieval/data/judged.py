"""The layout of BEIR (Thakur et al. 2021): corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from plumbline.contract.errors import DataError
from plumbline.sources.addresses import find_local_path
from plumbline.sources.parts import locate_parts
from plumbline.tables.formats import list_columns, open_file
from plumbline.tables.records import ReadRequest, WantedColumn
from tasks.retrieval.data.pairs import Pair

SPLITS = {"test": "test", "dev": "validation", "validation": "validation", "train": ""}


def find_folder(source: str) -> Path | None:
    """Return the folder that a source is; None where it is a file."""
    path = find_local_path(source)
    return Path(path) if path is not None and Path(path).is_dir() else None


def read_judged(folder: Path, max_chars: int, notices: list[str]) -> Iterator[Pair]:
    """Yield each passage of the corpus, then each judgement: a query, a passage and its grade.

    Judgements of qrels/test.tsv come first, as test queries. DataError for an id that is in no
    file, and for a grade such as 0.5.
    """
    texts = dict(_read_texts(folder / "corpus.jsonl", notices))
    queries = dict(_read_texts(folder / "queries.jsonl", notices))
    for id_, text in texts.items():
        if text:
            yield Pair("corpus.jsonl", "", text[:max_chars], id_)
    names = sorted(
        folder.glob("qrels/*.tsv"), key=lambda path: [*SPLITS, path.stem].index(path.stem)
    )
    unknown = [path.name for path in names if path.stem not in SPLITS]
    if unknown or "train" not in [path.stem for path in names]:
        found = ", ".join(unknown) or "no train.tsv, of which the other splits are taken"
        raise DataError(f"{folder}/qrels: {found}; expected {', '.join(SPLITS)}, each with .tsv")
    num_empty = 0
    for path in names:
        for place, (query, passage, grade) in _read_rows(
            path, ("query-id", "corpus-id", "score"), notices
        ):
            for id_, known, name in ((query, queries, "queries"), (passage, texts, "corpus")):
                if id_ not in known:
                    raise DataError(f"qrels/{place}: {name}.jsonl has no _id {id_}")
            if not grade.lstrip("-").isdecimal():
                raise DataError(f"qrels/{place}: score {grade!r}; expected a whole number")
            asked, text = queries[query][:max_chars], texts[passage][:max_chars]
            split = SPLITS[path.stem]
            if asked and text:
                yield Pair(place, asked, text, passage, grade=max(0, int(grade)), split=split)
            else:
                num_empty += 1
    if num_empty:
        notices.append(f"{num_empty} judgements of an empty query or passage are left out")


def _read_texts(path: Path, notices: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each row, behind its title; empty where it has neither."""
    names = ["_id", "text"]
    if "title" in list_columns(open_file(path), path.name):
        names.insert(1, "title")
    for _, (id_, *texts) in _read_rows(path, names, notices):
        yield id_, " ".join(texts).strip()


def _read_rows(
    path: Path, names: Sequence[str], notices: list[str]
) -> Iterator[tuple[str, list[str]]]:
    wanted = tuple(WantedColumn(name, "data.source") for name in names)
    (part,) = locate_parts([(None, str(path))], {})
    for row in part.read_rows(ReadRequest(wanted, refuse_encoding=False, notices=notices)):
        yield f"{path.name}:{row.number}", [value or "" for value in row.values]
