"""Answers with a trained text classifier; copied into every bundle, so it stands alone: no plumbline, no torch."""

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

MAX_CHARS = 100_000  # what a text longer than this holds is not a short text to route
MAX_ROWS, MAX_CELLS = 32, 8192  # of one batch; cells are rows times the longest row
MAX_THREADS = 8  # more keep more rows in memory than they gain
ONE_BY_ONE = ("int8",)  # forms that round all rows of a call on one scale

SLOWER = [
    "SkipLayerNormFusion"
]  # on a CPU the one operator takes five times as long as the two that it replaces

Inputs = tuple[np.ndarray, np.ndarray]  # ids and, for each, its weight (or 1): one row


def load(folder: Path | str, form: str | None = None) -> "Predictor":
    """The predictor of the bundle in `folder`, in the form that is served or in `form`; ValueError for one it lacks."""
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config["kind"] == "linear":
        features: Grams | Tokens = Grams(
            config["vocabulary"], load_file(folder / "model.safetensors")["idf"]
        )
    else:
        features = Tokens(Tokenizer.from_file(str(folder / "tokenizer.json")))
    return Predictor(folder, config, features, form)


class Predictor:
    """Calibrated answers for texts; safe to share between threads."""

    def __init__(
        self, folder: Path, config: Mapping[str, Any], features: "Grams | Tokens", form: str | None
    ) -> None:
        self.classes: list[str] = config["classes"]
        self.temperature: float = config["temperature"]
        self.forms = tuple(sorted(config["forms"], key=lambda name: name != config["served"]))
        form = form or self.forms[0]
        if form not in self.forms:
            raise ValueError(f"there is no form {form!r}; this model has {', '.join(self.forms)}")
        self._features = features
        self._max_rows = 1 if form in ONE_BY_ONE else MAX_ROWS
        graph = folder / config["forms"][form]
        self.num_bytes = graph.stat().st_size
        self._session = onnxruntime.InferenceSession(graph, _options(), disabled_optimizers=SLOWER)
        self._names = [argument.name for argument in self._session.get_inputs()]
        self._threads = ThreadPoolExecutor(_num_cores(), thread_name_prefix="onnxruntime")

    def predict(
        self, columns: Mapping[str, Sequence[Any]], top_k: int = 3, threshold: float = 0.0
    ) -> dict[str, list[Any]]:
        """Answer every row of `columns["text"]`, in order; a best score below `threshold` counts as abstained.

        A row gets the same scores alone and in company, within 1e-6. Raises ValueError that names a bad row.
        """
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise ValueError(f"top_k: expected a whole number from 1, found {top_k!r}")
        if (
            isinstance(threshold, bool)
            or not isinstance(threshold, int | float)
            or not 0 <= threshold <= 1
        ):
            raise ValueError(f"threshold: expected a number from 0 to 1, found {threshold!r}")
        if "text" not in columns:
            raise ValueError(
                f"no column 'text'; found {', '.join(map(repr, columns)) or 'no columns'}"
            )
        probabilities = self.probabilities(
            [_checked(row, text) for row, text in enumerate(columns["text"])]
        )
        best = np.argsort(-probabilities, axis=1, kind="stable")[:, :top_k]
        scores = [
            [{"label": self.classes[place], "score": float(row[place])} for place in places]
            for row, places in zip(probabilities, best, strict=True)
        ]
        return {
            "label": [row[0]["label"] for row in scores],
            "score": [row[0]["score"] for row in scores],
            "scores": scores,
            "abstained": [bool(row[0]["score"] < threshold) for row in scores],
        }

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """The probability of each class, shape (texts, classes), float64."""
        scaled = self.logits(texts) / self.temperature
        powers: np.ndarray = np.exp(scaled - scaled.max(axis=1, keepdims=True, initial=-np.inf))
        powers /= powers.sum(axis=1, keepdims=True)
        return powers

    def logits(self, texts: Sequence[str]) -> np.ndarray:
        """What the model says before scaling, shape (texts, classes), float64; batches share the cores."""
        rows = self._features.rows(texts)
        answers = np.empty((len(rows), len(self.classes)))

        def answer(batch: list[int]) -> None:
            feed = dict(zip(self._names, _padded([rows[row] for row in batch]), strict=True))
            answers[batch] = self._session.run(None, feed)[0]

        batches = _batches([len(ids) for ids, _ in rows], self._features.call_cells, self._max_rows)
        if len(batches) == 1:
            answer(batches[0])
        else:
            list(self._threads.map(answer, batches))
        return answers


class Tokens:
    """Token ids of subwords; the tokenizer file holds the limit at which texts are cut."""

    call_cells = 12  # what a call of the model costs beside its rows, in tokens

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def rows(self, texts: Sequence[str]) -> list[Inputs]:
        """Ids and ones for each text."""
        encodings = self._tokenizer.encode_batch_fast(list(texts))
        return [
            (np.array(found.ids, np.int64), np.ones(len(found.ids), np.int64))
            for found in encodings
        ]


class Grams:
    """TF-IDF weights of known word 1- and 2-grams: logarithmic counts, rows of length 1; id 0 is padding."""

    call_cells = 1000

    def __init__(self, vocabulary: Sequence[str], idf: np.ndarray) -> None:
        self._place = {gram: place for place, gram in enumerate(vocabulary)}
        self._idf = idf

    def rows(self, texts: Sequence[str]) -> list[Inputs]:
        """Ids and weights for each text."""
        return [self(text) for text in texts]

    def __call__(self, text: str) -> Inputs:
        """Ids in ascending order and their weights; a text without a known gram is one padding cell."""
        counts = Counter(self._place[gram] for gram in grams(text) if gram in self._place)
        if not counts:
            return np.zeros(1, np.int64), np.zeros(1, np.float32)
        places = np.array(sorted(counts))
        weights = (1 + np.log([counts[place] for place in places])) * self._idf[places]
        return places + 1, (weights / np.linalg.norm(weights)).astype(np.float32)


def grams(text: str) -> list[str]:
    """The words of a text, lower case, and each two that stand side by side."""
    words = re.findall(r"\w+", text.lower())
    return words + [f"{first} {second}" for first, second in pairwise(words)]


def _checked(row: int, text: Any) -> str:
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
        raise ValueError(
            f"row {row}: text: half of a character (a lone surrogate) at {error.start}"
        ) from None
    return text


def _batches(lengths: list[int], call_cells: int, max_rows: int = MAX_ROWS) -> list[list[int]]:
    """Rows by length, the longest first, cut into batches so that padding and calls cost least, all told, in cells.

    The best way to cut the first n rows is the best last batch behind the best way to cut those before it.
    """
    rows = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    costs, starts = [0], [0]
    for end in range(1, len(rows) + 1):
        first = max(0, end - max_rows)
        tried = [
            (costs[start] + call_cells + (end - start) * lengths[rows[start]], start)
            for start in range(first, end)
            if start == end - 1 or (end - start) * lengths[rows[start]] <= MAX_CELLS
        ]
        cost, start = min(tried)
        costs.append(cost)
        starts.append(start)
    batches, end = [], len(rows)
    while end:
        batches.append(rows[starts[end] : end])
        end = starts[end]
    return batches[::-1]


def _padded(rows: list[Inputs]) -> Inputs:
    """One array of ids and one of weights, shape (rows, longest), filled with 0."""
    shape = (len(rows), max(len(ids) for ids, _ in rows))
    all_ids, all_weights = np.zeros(shape, np.int64), np.zeros(shape, rows[0][1].dtype)
    for place, (ids, weights) in enumerate(rows):
        all_ids[place, : len(ids)], all_weights[place, : len(ids)] = ids, weights
    return all_ids, all_weights


def _num_cores() -> int:
    """The cores that this process may use, no more than MAX_THREADS."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(cores, MAX_THREADS)


def _options() -> onnxruntime.SessionOptions:
    """One thread a call, since several calls run at once: no core waits for another inside a call."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # every batch has another shape
    options.log_severity_level = 3
    return options
