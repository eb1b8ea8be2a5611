"""Predicts the next symbol of a sequence, and how much of the doubt more data would remove.

It is copied into every bundle and imports nothing of plumbline. A model looks back on the last
`max_history` symbols at most.

Shapes: B rows of equal length, t symbols each out of V.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from safetensors.numpy import load_file
from threadpoolctl import ThreadpoolController

MAX_SYMBOLS = 1_000_000  # of one row
MAX_ROLLOUTS, MAX_CONTINUATION = 64, 512
MAX_CELLS = 32_768  # rows times symbols that are answered at once


def load(folder: Path | str, form: str | None = None) -> "Predictor":
    """Load the bundle in `folder`; raises ValueError for a form that it does not have."""
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Predictor(folder, config, form)


class Rollouts(NamedTuple):
    """How a model continues a history to see what it would learn."""

    number: int
    continuation: int  # symbols of each


class Predictor:
    """The probabilities of the next symbol of each row; safe to share between threads."""

    forms = ("fp32",)

    def __init__(self, folder: Path, config: Mapping[str, Any], form: str | None) -> None:
        if form not in (None, *self.forms):
            raise ValueError(f"there is no form {form!r}; this model has {', '.join(self.forms)}")
        path = folder / "model.safetensors"
        self.num_bytes = path.stat().st_size
        self.num_symbols: int = config["num_symbols"]
        self.max_history: int = config["max_history"]
        self._model: Model = KINDS[config["kind"]](config, load_file(path))
        self._threads = ThreadpoolController()

    def predict(
        self,
        columns: Mapping[str, Sequence[Any]],
        rollouts: int = 0,
        continuation: int = 24,
        all_positions: bool = False,
    ) -> dict[str, list[Any]]:
        """Answer each row of `sequence`; raises ValueError that names a bad row.

        `rollouts`: estimate the epistemic part of the doubt by this many continuations of
        `continuation` symbols. `all_positions`: the predictions after 0, 1, ... symbols too.
        """
        check_param("rollouts", rollouts, 0, MAX_ROLLOUTS)
        check_param("continuation", continuation, 1, MAX_CONTINUATION)
        histories = self._read_histories(columns)
        tables: dict[int, np.ndarray] = {}
        gains: dict[int, list[float]] = {place: [] for place in range(len(histories))}
        plan = Rollouts(rollouts, continuation)
        with self._threads.limit(limits=1, user_api="blas"):  # more cost more than they save
            for batch in batch_by_length(histories, max(1, rollouts)):
                rows = np.stack([histories[place] for place in batch])
                tables.update(zip(batch, self._model.predict(rows), strict=True))
                if rollouts:
                    estimates = estimate_epistemic(self._model, rows, plan, self.max_history)
                    gains.update(zip(batch, [[float(gain)] for gain in estimates], strict=True))
        places = range(len(histories))
        last = [tables[place][-1] for place in places]
        return {
            "probabilities": [probabilities.tolist() for probabilities in last],
            "entropy": [float(compute_entropy(probabilities)) for probabilities in last],
            "epistemic": [gains[place] for place in places],
            "predictive": [tables[place].tolist() if all_positions else [] for place in places],
            "symbols_used": [len(history) for history in histories],
        }

    def _read_histories(self, columns: Mapping[str, Sequence[Any]]) -> list[np.ndarray]:
        if "sequence" not in columns:
            listed = ", ".join(map(repr, columns)) or "no columns"
            raise ValueError(f"no column 'sequence'; found {listed}")
        histories = []
        for row, sequence in enumerate(columns["sequence"]):
            try:
                symbols = check_sequence(sequence, self.num_symbols)
            except ValueError as error:
                raise ValueError(f"row {row}: {error}") from None
            histories.append(symbols[max(0, len(symbols) - self.max_history) :])
        return histories


class Model(Protocol):
    """What answers from weights: all positions of rows of equal length at once."""

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return probabilities after 0, 1, ... t symbols [B, t + 1, V] for rows [B, t]."""
        ...


class Rule:
    """Adds a number to the count of each symbol."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> None:
        self._num_symbols = int(config["num_symbols"])
        self._alphas = weights["alphas"]

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return probabilities after 0, 1, ... t symbols [B, t + 1, V] for rows [B, t]."""
        raised = count_symbols(rows, self._num_symbols) + self._alphas
        probabilities: np.ndarray = raised / raised.sum(axis=2, keepdims=True)
        return probabilities


class CountNetwork:
    """Two hidden layers on counts of symbols."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> None:
        self._config = config
        self._weights = weights

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return probabilities after 0, 1, ... t symbols [B, t + 1, V] for rows [B, t]."""
        units = build_features(rows, self._config)
        for layer in ("first", "second"):
            units = np.maximum(apply_linear(self._weights, layer, units), 0)
        return compute_softmax(apply_linear(self._weights, "head", units))


class Transformer:
    """A causal transformer with layer norm before each part; a start symbol, then the sequence."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> None:
        self._weights = weights
        self._layers, self._heads = int(config["layers"]), int(config["heads"])
        self._start = int(config["num_symbols"])

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return probabilities after 0, 1, ... t symbols [B, t + 1, V] for rows [B, t]."""
        start = np.full((len(rows), 1), self._start)
        symbols = np.concatenate([start, rows.astype(int)], axis=1)
        units = self._weights["embedding.weight"][symbols]
        units = units + self._weights["places"][: symbols.shape[1]]
        for layer in range(self._layers):
            name = f"blocks.{layer}."
            units = units + self._attend(name, self._normalise(name + "before", units))
            hidden = apply_linear(
                self._weights, name + "up", self._normalise(name + "after", units)
            )
            units = units + apply_linear(self._weights, name + "down", np.maximum(hidden, 0))
        return compute_softmax(apply_linear(self._weights, "head", self._normalise("norm", units)))

    def _normalise(self, name: str, units: np.ndarray) -> np.ndarray:
        """Layer norm (Ba et al. 2016)."""
        centred = units - units.mean(axis=2, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=2, keepdims=True) + np.float32(1e-5))
        normal: np.ndarray = centred / deviation * self._weights[f"{name}.weight"]
        normal += self._weights[f"{name}.bias"]
        return normal

    def _attend(self, name: str, units: np.ndarray) -> np.ndarray:
        """Attention over this and earlier places (Vaswani et al. 2017)."""
        num_rows, num_places, width = units.shape
        size = width // self._heads
        packed = apply_linear(self._weights, name + "qkv", units)
        split = packed.reshape(num_rows, num_places, 3, self._heads, size).transpose(2, 0, 3, 1, 4)
        query, key, value = split
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(math.sqrt(size))
        distance = np.arange(num_places)[:, None] - np.arange(num_places)
        scores = np.where(distance < 0, np.float32(-np.inf), scores)
        scores -= scores.max(axis=3, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=3, keepdims=True)
        mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(num_rows, num_places, width)
        return apply_linear(self._weights, name + "out", mixed)


KINDS: dict[str, type[Rule | CountNetwork | Transformer]] = {
    "rule": Rule,
    "counts": CountNetwork,
    "transformer": Transformer,
}


def estimate_epistemic(
    model: Model, rows: np.ndarray, rollouts: "Rollouts", max_history: int
) -> np.ndarray:
    """Return for each row in nats what the model would learn from more symbols [B].

    It continues each row by symbols of its own (the martingale posterior of Fong, Holmes and Walker
    2023, arXiv:2103.15671): the entropy of the mean of the probabilities that it then has, less the
    mean of their entropies. A row's random numbers come from its symbols.
    """
    size = (rollouts.number, rollouts.continuation)
    uniform = [np.random.default_rng(make_seed(row)).random(size) for row in rows]
    numbers = np.concatenate(uniform)
    longer = np.repeat(rows, rollouts.number, axis=0)
    for step in range(rollouts.continuation):
        probabilities = model.predict(longer[:, -max_history:])[:, -1]
        below = numbers[:, step, None] >= probabilities.cumsum(axis=1)[:, :-1]
        longer = np.column_stack([longer, below.sum(axis=1)])
    ends = model.predict(longer[:, -max_history:])[:, -1]
    ends = ends.reshape(len(rows), rollouts.number, -1)
    gain = compute_entropy(ends.mean(axis=1)) - compute_entropy(ends).mean(axis=1)
    positive: np.ndarray = np.maximum(gain, 0.0)
    return positive


def count_symbols(rows: np.ndarray, num_symbols: int) -> np.ndarray:
    """Count each symbol among the first 0, 1, ... t [B, t + 1, V]."""
    counts = np.zeros((len(rows), rows.shape[1] + 1, num_symbols))
    np.cumsum(rows[:, :, None] == np.arange(num_symbols), axis=1, out=counts[:, 1:])
    return counts


def build_features(rows: np.ndarray, config: Mapping[str, Any]) -> np.ndarray:
    """Return what a network on counts sees after 0, 1, ... t symbols [B, t + 1, F], float32.

    Shares and logs of the counts, and of how many they are.
    """
    counts = count_symbols(rows, int(config["num_symbols"]))
    total = counts.sum(axis=2, keepdims=True)
    parts = [counts / (total + 1), np.log1p(counts), np.log1p(total)]
    parts.append(total / int(config["max_history"]))
    return np.concatenate(parts, axis=2).astype(np.float32)


def apply_linear(weights: Mapping[str, np.ndarray], name: str, units: np.ndarray) -> np.ndarray:
    """Return W x + b for the layer `name`."""
    result: np.ndarray = units @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return result


def compute_softmax(logits: np.ndarray) -> np.ndarray:
    """Return probabilities in float64, whose sum is 1."""
    scores = logits.astype(float)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities: np.ndarray = weights / weights.sum(axis=-1, keepdims=True)
    return probabilities


def compute_entropy(probabilities: np.ndarray) -> np.ndarray:
    """Return the entropy of distributions [..., V], in nats."""
    safe = np.where(probabilities > 0, probabilities, 1.0)
    entropies: np.ndarray = -(probabilities * np.log(safe)).sum(axis=-1)
    return entropies


def make_seed(history: np.ndarray) -> int:
    """Return a seed that depends on the symbols alone: answers do not depend on the batch."""
    digest = hashlib.sha256(history.astype(np.uint8).tobytes()).digest()
    return int.from_bytes(digest[:8], "big")


def check_sequence(sequence: Any, num_symbols: int) -> np.ndarray:
    """Return the symbols as integers; raises ValueError for anything else."""
    expected = f"sequence: expected whole numbers from 0 to {num_symbols - 1}"
    if isinstance(sequence, str | bytes) or not isinstance(sequence, Sequence | np.ndarray):
        raise ValueError(f"{expected}, found {sequence!r:.60}")  # noqa: TRY004 (a bad row)
    if len(sequence) > MAX_SYMBOLS:
        raise ValueError(f"sequence: {len(sequence):,} symbols; at most {MAX_SYMBOLS:,} are read")
    kinds = {kind for kind in set(map(type, sequence)) if not is_whole_number(kind)}
    for place, symbol in enumerate(sequence):
        if type(symbol) in kinds or not 0 <= symbol < num_symbols:
            raise ValueError(f"{expected}, found {symbol!r:.60} at place {place}")
    return np.array(sequence, dtype=int)


def is_whole_number(kind: type) -> bool:
    """Whether values of this type are whole numbers: no booleans, no fractions."""
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool)


def check_param(name: str, value: Any, least: int, most: int) -> None:
    """Raise ValueError unless `value` is a whole number in the range."""
    if not is_whole_number(type(value)) or not least <= value <= most:
        raise ValueError(f"{name}: expected a whole number from {least} to {most}, found {value!r}")


def batch_by_length(histories: list[np.ndarray], rows_each: int) -> list[list[int]]:
    """Group the places of histories of equal length, no more than MAX_CELLS symbols at once.

    `rows_each`: of how many rows each history is the beginning.
    """
    by_length: dict[int, list[int]] = {}
    for place, history in enumerate(histories):
        by_length.setdefault(len(history), []).append(place)
    batches = []
    for length, places in by_length.items():
        size = max(1, MAX_CELLS // (rows_each * (length + 1)))
        batches += [places[at : at + size] for at in range(0, len(places), size)]
    return batches
