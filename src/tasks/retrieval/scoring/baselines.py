"""What any model has to beat: chance, BM25, and the encoder as it comes; and what is possible."""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Bound
from plumbline.contract.task import Columns, Predictor
from tasks.retrieval.data.generated import find_wrong
from tasks.retrieval.data.storage import Corpus, digest_text, read_corpus
from tasks.retrieval.params import BaseConfig, EncoderSettings, LexicalConfig, RetrievalParams
from tasks.retrieval.predictor import LexicalIndex
from tasks.retrieval.predictor import Predictor as Search


class RandomSearch:
    """Answers with passages at random, the same ones each time that a query is asked."""

    forms = ("fp32",)

    def __init__(self, corpus: Corpus) -> None:
        self._ids = np.array(corpus.ids, dtype=object)

    def predict(self, columns: Columns, top_k: int = 10, **params: Any) -> dict[str, list[Any]]:
        """Answer every row."""
        rows = []
        for query in columns["query"]:
            random = np.random.default_rng(int(digest_text(query)[:8], 16))
            rows.append(random.permutation(self._ids)[:top_k].tolist())
        return {"id": [ids[0] for ids in rows], "ids": rows}


def build_baselines(params: RetrievalParams, examples: Path) -> dict[str, Predictor]:
    """Return `random`, `bm25` and, where a candidate has an encoder, that as it comes: `base`.

    Of these, `evaluation.simple_candidate` and what costs more than it are left out: it may win.
    """
    corpus = read_corpus(examples)
    simple = params.find_simple()
    baselines: dict[str, Any] = {"random": RandomSearch(corpus)}
    if isinstance(simple, LexicalConfig):
        return baselines
    lexical = LexicalConfig(kind="bm25")
    index = LexicalIndex(corpus.texts, lexical.k1, lexical.b)
    baselines["bm25"] = Search(vars(corpus), index, None, None, params.data.max_chars)
    if isinstance(simple, BaseConfig):
        return baselines
    for config in params.candidates.values():
        if isinstance(config, EncoderSettings):
            from tasks.retrieval.models.encoding import TorchEncoder, load_model

            encoder = TorchEncoder(config, load_model(config))
            vectors = encoder.encode(corpus.texts, passages=True)
            baselines["base"] = Search(vars(corpus), None, encoder, vectors, params.data.max_chars)
            break
    return baselines


def compute_bound(params: RetrievalParams, examples: Path, split: str) -> Bound:
    """Return the best mean score of generated data; of others it is not known.

    Of a query with another passage than the right one, the best ranking has that one second.
    """
    settings = params.data.generated
    if settings is None:
        return Bound(None, "nobody knows which passages answer a query beside those that are named")
    wrong = np.array(find_wrong(settings, params.seed, split))
    limit = float(np.where(wrong, 1 / np.log2(3), 1.0).mean())
    return Bound(
        limit, f"{wrong.mean():.1%} of the queries have a passage that is not the right one"
    )
