"""From a source to a corpus, queries in three splits, and a manifest with one row a query."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.task import RIGHT_ANSWER
from plumbline.tables.split_rows import gather_rows
from tasks.retrieval.data.division import divide_queries
from tasks.retrieval.data.generated import draw_pool
from tasks.retrieval.data.judged import find_folder, read_judged
from tasks.retrieval.data.pairs import fold_query, name_length, pool_pairs, read_pairs
from tasks.retrieval.data.storage import (
    digest_text,
    read_corpus,
    read_queries,
    write_corpus,
    write_queries,
)
from tasks.retrieval.params import RetrievalParams
from tasks.retrieval.predictor import list_words

if TYPE_CHECKING:
    import pandas as pd

OVERLAP_LIMITS = ((1 / 3, "low"), (2 / 3, "middle"), (2.0, "high"))


def ingest(params: RetrievalParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write the corpus, every split's queries and the manifest; the facts say how many."""
    import pandas as pd

    notices: list[str] = []
    if params.data.generated is not None:
        corpus, splits = draw_pool(params.data.generated, params.seed)
    else:
        folder = find_folder(params.data.source)
        if folder:
            pairs = read_judged(folder, params.data.max_chars, notices)
        else:
            pairs = read_pairs(params.data, notices)
        corpus, asked = pool_pairs(pairs, notices)
        splits = divide_queries(asked, params.data.split, notices)
    write_corpus(examples, corpus)
    for split, queries in splits.items():
        table = pd.DataFrame([vars(query) for query in queries]).drop(columns="split")
        write_queries(examples, split, table)
    gather_rows(list_rows, examples).to_parquet(manifest, index=False)
    return {
        "source": params.data.source,
        "passages": len(corpus.ids),
        "corpus_digest": corpus.digest(),
        "queries": {split: len(queries) for split, queries in splits.items()},
        "notices": notices,
    }


def list_rows(examples: Path, split: str) -> "pd.DataFrame":
    """Return the manifest's rows of one split, in order, with all columns but `split`.

    `overlap` is the share of a query's words that its passage has: low, middle, high, or verbatim
    for all in a row. `passage` is `known` where a query of train has the same one, else `new`.
    """
    import pandas as pd

    corpus = read_corpus(examples)
    texts = dict(zip(corpus.ids, corpus.texts, strict=True))
    queries = read_queries(examples, split)
    known = set().union(*read_queries(examples, "train")["passages"].map(set))
    rows = []
    for query, topic, passages in queries[["query", "topic", "passages"]].itertuples(index=False):
        text = texts[passages[0]]
        rows.append(
            {
                "label": topic or name_length(query),
                "length": len(query),
                "digest": digest_text(fold_query(query)),
                "content_digest": digest_text(query),
                RIGHT_ANSWER: digest_text("\n".join(sorted(passages))),
                "overlap": _name_overlap(query, text),
                "passage": "known" if passages[0] in known else "new",
            }
        )
    return pd.concat([queries[["id"]], pd.DataFrame(rows)], axis=1)


def _name_overlap(query: str, text: str) -> str:
    if query.casefold() in text.casefold():
        return "verbatim"
    words = set(list_words(query))
    share = len(words & set(list_words(text))) / max(1, len(words))
    return next(name for limit, name in OVERLAP_LIMITS if share < limit)
