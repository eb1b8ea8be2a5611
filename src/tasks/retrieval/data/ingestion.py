"""From a source to a corpus, queries in three splits, and a manifest with one row a query."""

from bisect import bisect_right
from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd

from plumbline.contract.task import RIGHT_ANSWER
from plumbline.tables.split_rows import gather_rows
from tasks.retrieval.data.division import divide_queries
from tasks.retrieval.data.generated import draw_pool
from tasks.retrieval.data.judged import find_folder, read_judged
from tasks.retrieval.data.pairs import read_pairs
from tasks.retrieval.data.pooling import Notes, PooledQuery, fold_query, pool_pairs
from tasks.retrieval.data.storage import (
    CORPUS,
    digest_text,
    read_corpus,
    read_queries,
)
from tasks.retrieval.params import RetrievalParams
from tasks.retrieval.predictor import list_words

LENGTHS, LEAST_WORDS = ("short", "medium", "long"), (3, 8)  # of those but the first
OVERLAPS, LEAST_SHARES = ("low", "middle", "high"), (1 / 3, 2 / 3)


def ingest(params: RetrievalParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write the corpus, every split's queries and the manifest; the facts say how many."""
    data = params.data
    notices: list[str] = []
    notes: Notes = defaultdict(list)
    if data.generated is not None:
        texts, splits = draw_pool(data.generated, params.seed)
    else:
        folder = find_folder(data.source)
        pairs = read_judged(folder, data, notices) if folder else read_pairs(data, notices)
        texts, queries = pool_pairs(pairs, notes)
        splits = divide_queries(queries, data.split, notes)
    for sentence, found in notes.items():
        notices.append(sentence.format(number=len(set(found)), first=found[0]))
    corpus = pd.DataFrame(sorted(texts.items()), columns=["id", "text"])
    corpus.to_parquet(examples / CORPUS, index=False)
    for split, rows in splits.items():
        table = pd.DataFrame(map(PooledQuery.list_values, rows))
        table.to_parquet(examples / f"{split}.parquet", index=False)
    gather_rows(list_rows, examples).to_parquet(manifest, index=False)
    return {
        "source": data.source,
        "passages": len(corpus),
        "corpus_digest": digest_text("\0".join([*corpus["id"], *corpus["text"]])),
        "queries": {split: len(rows) for split, rows in splits.items()},
        "notices": notices,
    }


def list_rows(examples: Path, split: str) -> pd.DataFrame:
    """Return the manifest's rows of one split, in order, with all columns but `split`.

    `overlap` is the share of a query's words that its passage has: low, middle, high, or verbatim
    for all in a row. `passage` is `known` where a query of train has the same one, else `new`.
    """
    corpus, queries = read_corpus(examples), read_queries(examples, split)
    texts = dict(zip(corpus.ids, corpus.texts, strict=True))
    known = read_queries(examples, "train")["passages"].explode()
    query, first = queries["query"], queries["passages"].str[0]
    rows = queries[["id"]].assign(
        label=queries["topic"].where(queries["topic"] != "", query.map(_name_length)),
        length=query.str.len(),
        digest=query.map(fold_query).map(digest_text),
        content_digest=query.map(digest_text),
    )
    rows[RIGHT_ANSWER] = queries["passages"].map(sorted).map("\n".join).map(digest_text)
    rows["overlap"] = list(map(_name_overlap, query, first.map(texts)))
    rows["passage"] = first.isin(known).map({True: "known", False: "new"})
    return rows


def _name_length(query: str) -> str:
    return LENGTHS[bisect_right(LEAST_WORDS, len(query.split()))]


def _name_overlap(query: str, text: str) -> str:
    if query.casefold() in text.casefold():
        return "verbatim"
    words = set(list_words(query))
    share = len(words.intersection(list_words(text))) / max(1, len(words))
    return OVERLAPS[bisect_right(LEAST_SHARES, share)]
