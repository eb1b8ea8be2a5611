"""The layout of BEIR (Thakur et al. 2021): corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."""

from collections.abc import Iterator
from pathlib import Path

from plumbline.contract.errors import DataError
from plumbline.sources.addresses import find_local_path
from plumbline.sources.parts import locate_parts
from plumbline.tables.formats import list_columns, open_file
from plumbline.tables.records import WantedColumn
from tasks.retrieval.data.pairs import Pair, read_texts
from tasks.retrieval.params import PairData

QUERIES, CORPUS = "queries.jsonl", "corpus.jsonl"
JUDGEMENT = ["query-id", "corpus-id", "score"]
SPLITS = {"test": "test", "dev": "validation", "validation": "validation", "train": ""}


def find_folder(source: str) -> Path | None:
    """Return the folder that a source is; None where it is a file."""
    path = find_local_path(source)
    return Path(path) if path is not None and Path(path).is_dir() else None


def read_judged(folder: Path, data: PairData, notices: list[str]) -> Iterator[Pair]:
    """Yield each passage of the corpus, then each judgement: a query, a passage and its grade.

    Judgements of qrels/test.tsv come first, as test queries. DataError for an id that is in no
    file, and for a grade such as 0.5.
    """
    queries = _read_texts(folder / QUERIES, data, notices)
    texts = _read_texts(folder / CORPUS, data, notices)
    for id_, text in texts.items():
        if text:
            yield Pair(CORPUS, text, passage_id=id_)
    num_empty = 0
    for path in _list_judgements(folder / "qrels"):
        for place, (query, passage, score) in _read_rows(path, JUDGEMENT, data, notices):
            for id_, known, name in ((query, queries, QUERIES), (passage, texts, CORPUS)):
                if id_ not in known:
                    raise DataError(f"qrels/{place}: {name} has no _id {id_}")
            if not score.lstrip("-").isdecimal():
                raise DataError(f"qrels/{place}: score {score!r}; expected a whole number")
            grade, split = max(0, int(score)), SPLITS[path.stem]
            if queries[query] and texts[passage]:
                yield Pair(place, texts[passage], queries[query], passage, grade=grade, split=split)
            else:
                num_empty += 1
    if num_empty:
        notices.append(f"{num_empty} judgements of an empty query or passage are left out")


def _list_judgements(folder: Path) -> list[Path]:
    """List the files of judgements, in the order of SPLITS."""
    paths = {path.stem: path for path in folder.glob("*.tsv")}
    found = [path.name for stem, path in paths.items() if stem not in SPLITS]
    if "train" not in paths:
        found.append("no train.tsv, of which the other splits are taken")
    if found:
        expected = ", ".join(SPLITS)
        raise DataError(f"{folder}: {', '.join(found)}; expected {expected}, each with .tsv")
    return [paths[stem] for stem in SPLITS if stem in paths]


def _read_texts(path: Path, data: PairData, notices: list[str]) -> dict[str, str]:
    """Map the ids of a file to texts behind their titles; empty where a row has neither."""
    names = ["_id", "text"]
    if "title" in list_columns(open_file(path), path.name):
        names.insert(1, "title")
    texts = {}
    for _, (id_, *own) in _read_rows(path, names, data, notices):
        texts[id_] = " ".join(own).strip()[: data.max_chars]
    return texts


def _read_rows(
    path: Path, names: list[str], data: PairData, notices: list[str]
) -> Iterator[tuple[str, list[str]]]:
    columns = [WantedColumn(name, "data.source") for name in names]
    (part,) = locate_parts([(None, str(path))], {})
    return read_texts(part, columns, data.max_chars, notices)
