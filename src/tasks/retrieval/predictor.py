"""Answers queries with the passages of a corpus, best first; every passage is compared.

This file is copied into every bundle, so it imports neither plumbline nor torch. Shapes: N
passages, D numbers of a vector.
"""

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MAX_CHARS = 100_000  # of a query
MAX_THREADS = 8
MAX_TOP = 1000  # passages that one answer may have
DECIMALS = 6  # of a score; what differs by less is equal, and passages keep their order
RANK_SHIFT = 60  # of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)
# A mark belongs to the word before it, but for scripts without blanks, where it ends a piece.
UNSPACED = ("THAI", "LAO", "MYANMAR", "KHMER")
MARKS = "".join(
    sign
    for sign in map(chr, range(0x300, 0x10000))
    if unicodedata.category(sign)[0] == "M" and not unicodedata.name(sign).startswith(UNSPACED)
)
WORD = re.compile(rf"\w+(?:[{MARKS}]+\w*)*")
MAX_CALL = 512  # tokens of passages that are encoded together
# On a CPU this fused operator takes five times as long as the two that it replaces.
SLOW_OPTIMIZERS = ["SkipLayerNormFusion"]


def load(folder: Path | str, form: str | None = None) -> "Predictor":
    """Load the bundle in `folder`, in the form that is served or in `form`.

    Raises ValueError for a form that the bundle does not have.
    """
    folder = Path(folder)
    config = json.loads((folder / "search.json").read_text(encoding="utf-8"))
    corpus = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    forms = tuple(config["forms"])
    form = form or forms[0]
    if form not in forms:
        raise ValueError(f"there is no form {form!r}; this model has {', '.join(forms)}")
    words = encoder = vectors = None
    if config["words"]:
        words = LexicalIndex(corpus["texts"], config["words"]["k1"], config["words"]["b"])
    if config["encoder"]:
        encoder = GraphEncoder(folder, config["encoder"], form)
        vectors = load_file(folder / "vectors.safetensors")["vectors"]
    return Predictor(corpus, words, encoder, vectors, config["max_chars"], forms)


class Predictor:
    """Exact search by words, by vectors or by both; safe to share between threads."""

    def __init__(
        self,
        corpus: Mapping[str, list[str]],
        words: "LexicalIndex | None",
        encoder: Any,
        vectors: np.ndarray | None,
        max_chars: int,
        forms: tuple[str, ...] = ("fp32",),
    ) -> None:
        self.ids, self.texts = corpus["ids"], corpus["texts"]
        self.forms = forms
        self._words = words
        self._encoder = encoder
        self._vectors = None if vectors is None else vectors.astype(np.float32)
        self._max_chars = max_chars
        self.num_bytes = getattr(encoder, "num_bytes", sum(map(len, self.texts)))

    def predict(
        self,
        columns: Mapping[str, Sequence[Any]],
        top_k: int = 10,
        texts: bool = False,
        vectors: bool = False,
        passages: bool = False,
    ) -> dict[str, list[Any]]:
        """Answer every row of `columns["query"]` with the ids of the `top_k` best passages.

        `vectors` asks for those of the queries, and how many tokens were read; `passages` encodes
        the texts as passages are. `scores` are cosines, BM25 or sums of reciprocal ranks. A search
        by words alone answers with passages that have one of them, so that it may answer with none:
        then `id` is empty. A query gets the same answer alone and together with others. Raises
        ValueError that names a bad row. With `top_k` of 0 nothing is searched: `ids` are empty.
        """
        _check_params(top_k, texts=texts, vectors=vectors, passages=passages)
        if "query" not in columns:
            found = ", ".join(map(repr, columns)) or "no columns"
            raise ValueError(f"no column 'query'; found {found}")
        queries = [_check_query(row, query) for row, query in enumerate(columns["query"])]
        queries = [query.strip()[: self._max_chars] for query in queries]  # as ingest does
        encoded: Any = None
        if self._encoder is not None and queries:
            encoded = self._encoder.encode(queries, passages=passages)
        names = ("id", "ids", "scores", "texts", "vector", "tokens")
        answers: dict[str, list[Any]] = {name: [] for name in names}
        for row, query in enumerate(queries):
            scores = np.zeros(0)
            if top_k:
                scores = self._score_passages(query, None if encoded is None else encoded[row])
            best = rank_passages(scores)[:top_k]
            if self._vectors is None:
                best = best[scores[best] > 0]
            ids = [self.ids[place] for place in best]
            answers["id"].append(ids[0] if ids else "")
            answers["ids"].append(ids)
            answers["scores"].append(scores[best].tolist())
            answers["texts"].append([self.texts[place] for place in best] if texts else [])
            has_vector = vectors and encoded is not None
            answers["vector"].append(encoded[row].tolist() if has_vector else [])
            answers["tokens"].append(self._encoder.count_tokens(query) if has_vector else 0)
        return answers

    def search_corpus(self, corpus: Mapping[str, list[str]]) -> "Predictor":
        """Return the same search of other `ids` and `texts`; only new texts are encoded."""
        words, vectors = self._words, self._vectors
        if words is not None:
            words = LexicalIndex(corpus["texts"], *words.settings)
        if vectors is not None:
            known = dict(zip(self.texts, vectors, strict=True))
            new = [text for text in corpus["texts"] if text not in known]
            if new:
                encoded = self._encoder.encode(new, passages=True).astype(np.float16)
                known |= zip(new, encoded, strict=True)
            vectors = np.stack([known[text] for text in corpus["texts"]])
        return Predictor(corpus, words, self._encoder, vectors, self._max_chars, self.forms)

    def _score_passages(self, query: str, vector: Any) -> Any:
        """Return the score of each passage [N], rounded to DECIMALS."""
        if self._words is not None:
            by_word = np.round(self._words.score_passages(query), DECIMALS)
        if self._vectors is None:
            return by_word
        by_vector = np.round((self._vectors @ vector).astype(np.float64), DECIMALS)
        if self._words is None:
            return by_vector
        # A passage without a word of the query has no rank by words.
        shares = np.where(by_word > 0, _invert_ranks(by_word), 0.0) + _invert_ranks(by_vector)
        return np.round(shares, DECIMALS)


class LexicalIndex:
    """BM25 over all passages: which have a word, and what it counts in each."""

    def __init__(self, texts: Sequence[str], k1: float, b: float) -> None:
        self.settings = k1, b
        counts = [Counter(list_words(text)) for text in texts]
        lengths = np.array([count.total() for count in counts], dtype=float)
        norms = k1 * (1 - b + b * lengths / max(lengths.mean(), 1.0))
        found: dict[str, list[tuple[int, int]]] = {}
        for place, count in enumerate(counts):
            for word, times in count.items():
                found.setdefault(word, []).append((place, times))
        self._postings = {}
        self._num_passages = len(texts)
        for word, pairs in found.items():
            places, times = np.array(pairs).T
            rarity = np.log(1 + (len(texts) - len(pairs) + 0.5) / (len(pairs) + 0.5))
            self._postings[word] = places, rarity * times * (k1 + 1) / (times + norms[places])

    def score_passages(self, query: str) -> np.ndarray:
        """Return the score of each passage [N]; a word that the query repeats counts again."""
        scores = np.zeros(self._num_passages)
        for word in list_words(query):
            if word in self._postings:
                places, weights = self._postings[word]
                scores[places] += weights
        return scores


class GraphEncoder:
    """An exported encoder; a query is encoded alone, so that no other text changes it.

    Passages of one length share a call, but in int8, which rounds all of a call on one scale.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], form: str) -> None:
        path = folder / config["graphs"][form]
        self.num_bytes = path.stat().st_size
        self._session = open_graph(path)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._prefixes = {False: config["query_prefix"], True: config["passage_prefix"]}
        self._max_call = 0 if form == "int8" else MAX_CALL
        self._threads = ThreadPoolExecutor(_count_cores(), thread_name_prefix="onnxruntime")

    def encode(self, texts: Sequence[str], *, passages: bool) -> np.ndarray:
        """Return the unit vectors of texts, [texts, D], float32: of queries or of passages."""
        prefix, max_call = self._prefixes[passages], self._max_call if passages else 0
        encodings = self._tokenizer.encode_batch_fast([prefix + text for text in texts])
        tokens = [encoding.ids for encoding in encodings]
        calls = share_calls(list(map(len, tokens)), max_call)
        inputs = [np.array([tokens[place] for place in call], np.int64) for call in calls]
        vectors = np.concatenate(list(self._threads.map(self._run, inputs)))
        return vectors[np.argsort(np.concatenate(calls))]

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text without prefix, as far as they are read."""
        return len(self._tokenizer.encode(text).ids)

    def _run(self, ids: np.ndarray) -> np.ndarray:
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        vectors: np.ndarray = self._session.run(None, feed)[0]
        return vectors


def share_calls(lengths: Sequence[int], max_call: int) -> list[list[int]]:
    """List the places of texts by call: of one length, at most `max_call` tokens or one text."""
    calls: list[list[int]] = []
    length = -1  # of the texts of the last call
    for place in np.argsort(lengths, kind="stable").tolist():
        if lengths[place] != length or (len(calls[-1]) + 1) * length > max_call:
            calls.append([])
        length = lengths[place]
        calls[-1].append(place)
    return calls


def open_graph(path: Path) -> onnxruntime.InferenceSession:
    """Open an exported graph, to be run by several threads at once, each call by one of them."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # texts have many lengths
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, disabled_optimizers=SLOW_OPTIMIZERS)


def list_words(text: str) -> list[str]:
    """List the words of a text in lower case and NFC, numbers being words."""
    return WORD.findall(unicodedata.normalize("NFC", text.lower()))


def rank_passages(scores: np.ndarray) -> np.ndarray:
    """Return the places of passages, the best first; equal ones in their order."""
    return np.argsort(-scores, kind="stable")


def _invert_ranks(scores: np.ndarray) -> np.ndarray:
    """Return 1 / (RANK_SHIFT + rank) of each passage [N]; the best has rank 1."""
    ranks = np.empty(len(scores))
    ranks[rank_passages(scores)] = np.arange(1, len(scores) + 1)
    inverse: np.ndarray = 1 / (RANK_SHIFT + ranks)
    return inverse


def _check_params(top_k: Any, **switches: Any) -> None:
    if isinstance(top_k, bool) or not isinstance(top_k, int) or not 0 <= top_k <= MAX_TOP:
        raise ValueError(f"top_k: expected a whole number from 0 to {MAX_TOP}, found {top_k!r}")
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name}: expected true or false, found {value!r}")  # noqa: TRY004 (one error type)


def _check_query(row: int, query: Any) -> str:
    if not isinstance(query, str):
        raise ValueError(f"row {row}: query: expected text, found {type(query).__name__}")  # noqa: TRY004 (one error type)
    if not query.strip():
        raise ValueError(f"row {row}: query: empty")
    if len(query) > MAX_CHARS:
        raise ValueError(
            f"row {row}: query: {len(query):,} characters; at most {MAX_CHARS:,} are accepted"
        )
    try:
        query.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"row {row}: query: unpaired surrogate at {error.start}") from None
    return query


def _count_cores() -> int:
    """Count the cores that this process may use, no more than MAX_THREADS."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return min(cores, MAX_THREADS)
