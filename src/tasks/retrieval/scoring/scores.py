"""Scores by query; every model searches the whole corpus."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from plumbline.process.files import read_json
from plumbline.statistics.intervals import compute_mean_interval
from tasks.retrieval.data.ingestion import list_rows
from tasks.retrieval.data.pooling import fold_query
from tasks.retrieval.data.storage import (
    ID_LETTERS,
    Corpus,
    digest_text,
    read_corpus,
    read_id,
    read_queries,
)
from tasks.retrieval.ranking import CUT, rank_queries

if TYPE_CHECKING:
    import pandas as pd

NUM_CHARS = 160  # of a passage that a person reads in the report
CONFIDENCE = 0.95
OVERLAPS = ("low", "middle", "high", "verbatim")
DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100)


def score(examples: Path, split: str, predictor: Predictor) -> Scores:
    """Score every query of `split`; ValueError for an answer that has a passage twice.

    `ndcg_at_10` counts each right passage among the first ten by its rank; `recall_at_k` is the
    share of right passages among the first k, `mrr_at_10` the inverse rank of the first right one,
    `accuracy` the share of queries whose first answer is right.
    Beside each query's score are the texts that it `found` first and that were right (`actual`).
    """
    queries = read_queries(examples, split)
    corpus = read_corpus(examples)
    answers, gains, ndcg = rank_queries(queries, _search_same(corpus, predictor))
    hits = gains > 0
    num_right = queries["passages"].map(len).to_numpy()
    ranks = np.where(hits[:, :CUT].any(axis=1), hits.argmax(axis=1) + 1, np.inf)
    recall = np.cumsum(hits, axis=1) / num_right[:, None]
    metrics = {
        "ndcg_at_10": float(ndcg.mean()),
        "recall_at_1": float(recall[:, 0].mean()),
        "recall_at_10": float(recall[:, CUT - 1].mean()),
        "mrr_at_10": float((1 / ranks).mean()),
        "accuracy": float(hits[:, 0].mean()),
    }
    texts = {i: text[:NUM_CHARS] for i, text in zip(corpus.ids, corpus.texts, strict=True)}
    per_example = {
        "id": queries["id"].to_numpy(object),
        "ndcg_at_10": ndcg,
        "predicted": np.array(answers["id"], dtype=object),
        "found": np.array([texts.get(id_, "") for id_ in answers["id"]], object),
        "actual": np.array([texts[ids[0]] for ids in queries["passages"]], object),
    }
    overlap = list_rows(examples, split)["overlap"]
    tables = {"recall": _build_recall_table(recall), "overlap": _build_group_table(overlap, ndcg)}
    return Scores(per_example, metrics, tables)


def _search_same(corpus: Corpus, predictor: Any) -> Predictor:
    """Return what searches `corpus`: of a champion with another one, that is indexed now."""
    ids, texts = (getattr(predictor, name, None) for name in ("ids", "texts"))
    if ids is not None and (ids, texts) != (corpus.ids, corpus.texts):
        predictor = predictor.search_corpus(vars(corpus))
    same: Predictor = predictor
    return same


def score_answer(answer: Mapping[str, Any], truth: str) -> float:
    """Return 1 where the first answer is `truth`, the id of a passage or its text."""
    truth = truth.strip()
    if not truth:
        raise ValueError("empty; the right answer is a passage, or its id")
    known = {truth, read_id(truth), digest_text(truth)[:ID_LETTERS]}
    return float(answer["id"] in known or truth in answer["texts"][:1])


def find_unknown(truths: Sequence[str], bundle: Path) -> dict[str, str]:
    """Map truths that are no passage of a bundle to the id or text that they may mean, or ""."""
    corpus = read_json(bundle / "corpus.json")
    known = {*corpus["ids"], *corpus["texts"]}
    unknown = [truth for truth in truths if not known & {truth.strip(), read_id(truth.strip())}]
    folded = {fold_query(name): name for name in known} if unknown else {}
    return {truth: folded.get(fold_query(truth), "") for truth in unknown}


def _build_group_table(groups: "pd.Series", ndcg: np.ndarray) -> "pd.DataFrame":
    """Return the mean of each group with its interval, in the order of OVERLAPS."""
    import pandas as pd

    rows = []
    for name in OVERLAPS:
        own = ndcg[groups == name]
        if own.size > 1:
            low, high = compute_mean_interval(own, "continuous", CONFIDENCE)
            rows.append((name, own.size, own.mean(), low, high))
    return pd.DataFrame(rows, columns=["overlap", "queries", "ndcg_at_10", "low", "high"])


def _build_recall_table(recall: np.ndarray) -> "pd.DataFrame":
    import pandas as pd

    columns = np.array(DEPTHS) - 1
    return pd.DataFrame({"passages": DEPTHS, "recall": recall[:, columns].mean(axis=0)})
