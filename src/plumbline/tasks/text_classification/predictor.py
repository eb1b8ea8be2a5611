"""Answers with a trained text classifier.

This file is copied into every bundle, so it imports neither plumbline nor torch.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MAX_CHARS = 100_000  # a longer text is not a short text to route
MAX_ROWS = 32  # of one batch
MAX_CELLS = 8192  # of one batch: rows times the longest row
MAX_THREADS = 8  # more keep more rows in memory than they gain
# Cores that a few rows are split over: not what the machine has, so that batches, and with them the
# last digits of answers, are the same everywhere.
SHARES = 2
ONE_BY_ONE = ("int8",)  # forms that round all rows of a call on one scale
# On a CPU this fused operator takes five times as long as the two that it replaces.
SLOW_OPTIMIZERS = ["SkipLayerNormFusion"]

# Signs of scripts without blanks between words, and emoji: each is a word (as in data/words.py).
SIGNS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
    "\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
)
WORD = re.compile(rf"[{SIGNS}]|[^\W{SIGNS}]+")

# How a set of labels is written as one text (as in data/label_sets.py).
SEPARATOR = "|"
NO_LABEL = "(none)"

EncodedText = tuple[np.ndarray, np.ndarray]  # ids and, for each, its weight (or 1)


def load(folder: Path | str, form: str | None = None) -> "Predictor":
    """Load the predictor of the bundle in `folder`, in the form that is served or in `form`.

    Raises ValueError for a form that the bundle does not have.
    """
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    features: TfidfFeatures | TokenFeatures
    if config["kind"] == "linear":
        idf = read_idf(load_file(folder / "model.safetensors"))
        features = TfidfFeatures(config["vocabulary"], idf)
    else:
        features = TokenFeatures(Tokenizer.from_file(str(folder / "tokenizer.json")))
    return Predictor(folder, config, features, form)


class Predictor:
    """Calibrated answers for texts; safe to share between threads."""

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any],
        features: "TfidfFeatures | TokenFeatures",
        form: str | None,
    ) -> None:
        self.classes: list[str] = config["classes"]
        self.temperature: float = config["temperature"]
        self.threshold: float = config["threshold"] or 0.0  # of the best score, below it abstains
        self.members: int = config.get("members", 1)
        # Of a model of sets of labels: the probability from which it gives each label.
        self.thresholds: list[float] | None = config.get("thresholds")
        # As ingest: what is beyond was never learned from, and not measured.
        self._max_chars: int = config["max_chars"]
        self.forms = tuple(sorted(config["forms"], key=lambda name: name != config["served"]))
        form = form or self.forms[0]
        if form not in self.forms:
            raise ValueError(f"there is no form {form!r}; this model has {', '.join(self.forms)}")
        self.features = features
        self._max_rows = 1 if form in ONE_BY_ONE else MAX_ROWS
        graph = folder / config["forms"][form]
        self.num_bytes = graph.stat().st_size
        self._session = open_graph(graph)
        self._names = [argument.name for argument in self._session.get_inputs()]
        self._threads = ThreadPoolExecutor(_num_cores(), thread_name_prefix="onnxruntime")

    def predict(
        self, columns: Mapping[str, Sequence[Any]], top_k: int = 3, threshold: float = 0.0
    ) -> dict[str, list[Any]]:
        """Answer every row of `columns["text"]`, in order.

        A row whose best score is below `threshold`, or below the threshold that the bundle was
        sealed with, counts as abstained; its label is the best guess. An ensemble also answers
        `epistemic` and `aleatoric`, a model of sets `labels`: then `label` is all of them as one
        text, `score` the probability of exactly this set, and `scores` are of each label by
        itself. A row gets the same scores alone and together with others,
        within 1e-6. Raises ValueError that names a bad row.
        """
        _check_params(top_k, threshold)
        if "text" not in columns:
            names = ", ".join(map(repr, columns)) or "no columns"
            raise ValueError(f"no column 'text'; found {names}")
        texts = [_check_text(row, text) for row, text in enumerate(columns["text"])]
        probabilities = self._compute_member_probabilities(texts)
        scores = self._rank_classes(probabilities.mean(axis=1), top_k)
        best: dict[str, list[Any]] = {
            "label": [row[0]["label"] for row in scores],
            "score": [row[0]["score"] for row in scores],
        }
        if self.thresholds is not None:
            best = self._choose_sets(probabilities[:, 0])
        limit = max(threshold, self.threshold)
        answers = {
            "label": best["label"],
            "score": best["score"],
            "scores": scores,
            "abstained": [bool(score < limit) for score in best["score"]],
        }
        if self.members > 1:
            answers |= _split_uncertainty(probabilities)
        if self.thresholds is not None:
            answers["labels"] = best["labels"]
        return answers

    def compute_logits(self, texts: Sequence[str]) -> np.ndarray:
        """Return the model's output before scaling, shape (texts, classes), float64.

        That of an ensemble has the shape (texts, members, classes). Texts are cut where ingest cuts
        them. Batches share the cores.
        """
        logits = self._compute_member_logits(texts)
        return logits if self.members > 1 else logits[:, 0]

    def _compute_member_probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probabilities of each member, shape (texts, members, classes)."""
        scaled = self._compute_member_logits(texts) / self.temperature
        if self.thresholds is not None:
            return compute_sigmoid(scaled)
        powers: np.ndarray = np.exp(scaled - scaled.max(axis=2, keepdims=True, initial=-np.inf))
        powers /= powers.sum(axis=2, keepdims=True)
        return powers

    def _compute_member_logits(self, texts: Sequence[str]) -> np.ndarray:
        rows = self.features.encode_texts([text[: self._max_chars] for text in texts])
        logits = np.empty((len(rows), self.members, len(self.classes)))

        def run_batch(batch: list[int]) -> None:
            arrays = _pad_rows([rows[row] for row in batch])
            feed = dict(zip(self._names, arrays, strict=True))
            answered = self._session.run(None, feed)[0]
            logits[batch] = answered.reshape(len(batch), self.members, len(self.classes))

        lengths = [len(ids) for ids, _ in rows]
        batches = _share_rows(lengths, self.features.call_cells, self._max_rows)
        if len(batches) == 1:
            run_batch(batches[0])
        else:
            list(self._threads.map(run_batch, batches))
        return logits

    def _rank_classes(self, probabilities: np.ndarray, top_k: int) -> list[list[dict[str, Any]]]:
        """Return the `top_k` classes of each row with their scores, the best first."""
        best = np.argsort(-probabilities, axis=1, kind="stable")[:, :top_k]
        scores = []
        for row, indices in zip(probabilities, best, strict=True):
            scores.append([{"label": self.classes[i], "score": float(row[i])} for i in indices])
        return scores

    def _choose_sets(self, probabilities: np.ndarray) -> dict[str, list[Any]]:
        """Return for each row the labels that reach their thresholds, and how probable the set is.

        Labels are taken as independent, given the text. `probabilities` are (rows, classes).
        """
        given = probabilities >= np.array(self.thresholds)
        chances = np.where(given, probabilities, 1 - probabilities).prod(axis=1)
        labels = [[self.classes[index] for index in np.flatnonzero(row)] for row in given]
        return {
            "label": [SEPARATOR.join(row) or NO_LABEL for row in labels],
            "score": chances.tolist(),
            "labels": labels,
        }


class TokenFeatures:
    """Token ids; the tokenizer file holds the limit at which texts are truncated."""

    call_cells = 12  # the cost of a call of the model beside its rows, in tokens

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode_texts(self, texts: Sequence[str]) -> list[EncodedText]:
        """Return ids and ones for each text."""
        rows = []
        for encoding in self._tokenizer.encode_batch_fast(list(texts)):
            ids = np.array(encoding.ids, np.int64)
            rows.append((ids, np.ones(len(ids), np.int64)))
        return rows


class TfidfFeatures:
    """TF-IDF weights of known word 1- and 2-grams; id 0 is padding.

    Counts are logarithmic, and the weights of a text have length 1.
    """

    call_cells = 1000

    def __init__(self, vocabulary: Sequence[str], idf: np.ndarray) -> None:
        self._index = {gram: index for index, gram in enumerate(vocabulary)}
        self._idf = idf

    def encode_texts(self, texts: Sequence[str]) -> list[EncodedText]:
        """Return ids and weights for each text."""
        return [self.encode_text(text) for text in texts]

    def encode_text(self, text: str) -> EncodedText:
        """Return ids in ascending order and their weights.

        A text without a known gram is one padding cell.
        """
        counts = Counter(self._index[gram] for gram in extract_grams(text) if gram in self._index)
        if not counts:
            return np.zeros(1, np.int64), np.zeros(1, np.float32)
        indices = np.array(sorted(counts))
        weights = (1 + np.log([counts[index] for index in indices])) * self._idf[indices]
        return indices + 1, (weights / np.linalg.norm(weights)).astype(np.float32)


def compute_sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities of logits; none overflows."""
    powers = np.exp(-np.abs(logits))
    probabilities: np.ndarray = np.where(logits >= 0, 1.0, powers) / (1 + powers)
    return probabilities


def open_graph(path: Path) -> onnxruntime.InferenceSession:
    """Open an exported graph, to be run by several threads at once.

    One thread per call, since several calls run at once and none waits for another's core.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # every batch has another shape
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, disabled_optimizers=SLOW_OPTIMIZERS)


def read_idf(weights: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the inverse document frequencies among a model's weights; members share theirs."""
    return weights["idf"] if "idf" in weights else weights["members.0.idf"]


def extract_grams(text: str) -> list[str]:
    """Return the words of a text, in lower case, and each two neighbouring words.

    Where a script has no blanks between words, these are its signs and each two of them.
    """
    words = WORD.findall(text.lower())
    return words + [f"{first} {second}" for first, second in pairwise(words)]


def _split_uncertainty(probabilities: np.ndarray) -> dict[str, list[float]]:
    """Split the entropy of the mean into what members disagree on, and what they agree is open.

    `probabilities` are (texts, members, classes). In nats: `aleatoric` is the mean of the members'
    entropies, `epistemic` the mutual information of answer and member (Depeweg et al. 2018,
    arXiv:1710.07283; Houlsby et al. 2011, arXiv:1112.5745). Their sum is the entropy of the mean.
    """
    aleatoric = _compute_entropy(probabilities).mean(axis=1)
    total = _compute_entropy(probabilities.mean(axis=1))
    epistemic = np.maximum(total - aleatoric, 0.0)  # below 0 by rounding alone
    return {"epistemic": epistemic.tolist(), "aleatoric": aleatoric.tolist()}


def _compute_entropy(probabilities: np.ndarray) -> np.ndarray:
    """Return the entropy over the last axis, in nats; a class of probability 0 adds nothing."""
    logs = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    entropy: np.ndarray = -(probabilities * logs).sum(axis=-1)
    return entropy


def _check_params(top_k: Any, threshold: Any) -> None:
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise ValueError(f"top_k: expected a whole number from 1, found {top_k!r}")
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not is_number or not 0 <= threshold <= 1:
        raise ValueError(f"threshold: expected a number from 0 to 1, found {threshold!r}")


def _check_text(row: int, text: Any) -> str:
    if not isinstance(text, str):
        raise ValueError(f"row {row}: text: expected text, found {type(text).__name__}")  # noqa: TRY004 (one error type)
    if not text.strip():
        raise ValueError(f"row {row}: text: empty")
    if len(text) > MAX_CHARS:
        raise ValueError(
            f"row {row}: text: {len(text):,} characters; at most {MAX_CHARS:,} are accepted"
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"row {row}: text: unpaired surrogate at {error.start}") from None
    return text


def _share_rows(lengths: list[int], call_cells: int, max_rows: int) -> list[list[int]]:
    """Split rows into the batches that cost least or, if that ends sooner, into some for two cores.

    Few rows are cheapest in one batch, which keeps one core busy while the others wait.
    """
    cheapest = _plan_batches(lengths, call_cells, max_rows)
    even_rows = -(-len(lengths) // SHARES)
    if len(lengths) < 2 or even_rows >= max_rows:
        return cheapest
    shared = _plan_batches(lengths, call_cells, even_rows)
    return min(cheapest, shared, key=lambda batches: _estimate_time(batches, lengths, call_cells))


def _estimate_time(batches: list[list[int]], lengths: list[int], call_cells: int) -> int:
    """Return when the last core ends, in cells; to hand batches to threads costs as a call does."""
    busy = [0] * SHARES
    for batch in batches:
        first_free = busy.index(min(busy))
        busy[first_free] += call_cells + len(batch) * max(lengths[row] for row in batch)
    return max(busy) + (call_cells if len(batches) > 1 else 0)


def _plan_batches(lengths: list[int], call_cells: int, max_rows: int) -> list[list[int]]:
    """Split rows into batches of similar length so that padding and calls cost least, in cells.

    The longest rows come first. The best way to split the first n rows is the best last batch
    after the best way to split those before it.
    """
    rows = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    costs = [0]  # of the first n rows
    starts = [0]  # of the last batch of the first n rows
    for end in range(1, len(rows) + 1):
        options = []
        for start in range(max(0, end - max_rows), end):
            cells = (end - start) * lengths[rows[start]]
            if start == end - 1 or cells <= MAX_CELLS:
                options.append((costs[start] + call_cells + cells, start))
        cost, start = min(options)
        costs.append(cost)
        starts.append(start)
    batches = []
    end = len(rows)
    while end:
        batches.append(rows[starts[end] : end])
        end = starts[end]
    return batches[::-1]


def _pad_rows(rows: list[EncodedText]) -> EncodedText:
    """Return one array of ids and one of weights, shape (rows, longest), padded with 0."""
    shape = (len(rows), max(len(ids) for ids, _ in rows))
    all_ids = np.zeros(shape, np.int64)
    all_weights = np.zeros(shape, rows[0][1].dtype)
    for row, (ids, weights) in enumerate(rows):
        all_ids[row, : len(ids)] = ids
        all_weights[row, : len(ids)] = weights
    return all_ids, all_weights


def _num_cores() -> int:
    """The cores that this process may use, no more than MAX_THREADS."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, MAX_THREADS)
