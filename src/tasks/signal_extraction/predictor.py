"""Recovers one component of a mixture, whole or in pieces.

It is copied into every bundle and imports nothing of plumbline. A row's answer at a sample depends
on the samples up to it. The state that comes with the answer, sent with the samples that follow,
continues the answer as if all had been asked at once.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from safetensors.numpy import load_file

MAX_SAMPLES = 10_000_000  # of one row
MAX_CELLS = 65_536  # of one batch: rows times samples
SAME_HZ = 1e-6


class Row(NamedTuple):
    """One row, after checks."""

    signal: np.ndarray  # [T]
    frequency: int  # its place among those that the model knows
    state: np.ndarray  # [S]; empty at the start of a signal


def load(folder: Path | str, form: str | None = None) -> "Predictor":
    """Load the bundle in `folder`; raises ValueError for a form that it does not have."""
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Predictor(folder, config, form)


class Predictor:
    """One component for each row; safe to share between threads."""

    forms = ("fp32",)

    def __init__(self, folder: Path, config: Mapping[str, Any], form: str | None) -> None:
        if form not in (None, *self.forms):
            raise ValueError(f"there is no form {form!r}; this model has {', '.join(self.forms)}")
        self.frequencies_hz: list[float] = config["frequencies_hz"]
        self._model: Filters | Lstm
        if config["kind"] == "fir":
            path = folder / "model.safetensors"
            self._model = Filters(load_file(path)["filters"])
        else:
            path = folder / "model.onnx"
            self._model = Lstm(path, config)
        self.num_bytes = path.stat().st_size

    def predict(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Answer the component at each row's `frequency_hz`, and the state after its `signal`.

        A column `state` continues rows where an earlier answer ended. Raises ValueError that names
        a bad row.
        """
        rows = self._read_rows(columns)
        answers: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for batch in _batch_by_length(rows):
            batch_answers = self._model.answer([rows[place] for place in batch])
            answers.update(zip(batch, batch_answers, strict=True))
        ordered = [answers[place] for place in range(len(rows))]
        return {
            "component": [component.tolist() for component, _ in ordered],
            "state": [state.tolist() for _, state in ordered],
        }

    def _read_rows(self, columns: Mapping[str, Sequence[Any]]) -> list[Row]:
        for name in ("signal", "frequency_hz"):
            if name not in columns:
                listed = ", ".join(map(repr, columns)) or "no columns"
                raise ValueError(f"no column {name!r}; found {listed}")
        states = columns.get("state", [None] * len(columns["signal"]))
        if not len(columns["signal"]) == len(columns["frequency_hz"]) == len(states):
            raise ValueError(
                "columns of different lengths: every row has a signal and a frequency_hz"
            )
        asked = zip(columns["signal"], columns["frequency_hz"], states, strict=True)
        return [self._check_row(number, *row) for number, row in enumerate(asked)]

    def _check_row(self, number: int, signal: Any, frequency: Any, state: Any) -> Row:
        try:
            return Row(
                _check_signal(signal), self._find_frequency(frequency), self._check_state(state)
            )
        except ValueError as error:
            raise ValueError(f"row {number}: {error}") from None

    def _find_frequency(self, frequency: Any) -> int:
        if isinstance(frequency, bool) or not isinstance(frequency, int | float | np.number):
            raise ValueError(f"frequency_hz: expected a number, found {frequency!r:.60}")  # noqa: TRY004 (a bad row)
        for place, known in enumerate(self.frequencies_hz):
            if known - SAME_HZ <= frequency <= known + SAME_HZ:
                return place
        listed = ", ".join(f"{known:g}" for known in self.frequencies_hz)
        raise ValueError(f"frequency_hz: {frequency!r:.60}; the model knows {listed}")

    def _check_state(self, state: Any) -> np.ndarray:
        is_nan = isinstance(state, float) and math.isnan(state)  # pandas' missing value
        if state is None or is_nan:
            return np.empty(0)
        numbers = _check_numbers("state", state)
        if len(numbers) and not self._model.is_state_length(len(numbers)):
            raise ValueError(
                f"state: {len(numbers)} numbers; send the whole state that this model returned"
            )
        return numbers


class Filters:
    """A bank of FIR filters [K, W, W]; the state is the last W - 1 samples, or fewer at first."""

    def __init__(self, filters: np.ndarray) -> None:
        self._filters = filters
        self._taps = int(filters.shape[1])

    def is_state_length(self, length: int) -> bool:
        """Whether a state may have this length."""
        return length < self._taps

    def answer(self, rows: list[Row]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return component [T] and state of each row."""
        return [self._filter_row(row) for row in rows]

    def _filter_row(self, row: Row) -> tuple[np.ndarray, np.ndarray]:
        filters, taps = self._filters[row.frequency], self._taps
        samples = np.concatenate([row.state, row.signal])
        start = filters[: len(samples), : len(samples)] @ samples[:taps]
        rest = np.empty(0)
        if len(samples) > taps:
            rest = np.convolve(samples, filters[-1][::-1], "valid")[1:]
        component = np.concatenate([start, rest])[len(row.state) :]
        return component, samples[max(0, len(samples) - taps + 1) :]


class Lstm:
    """An ONNX graph; the state is h and c of all layers [2, D, H] in one row."""

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self._shape = (2, int(config["layers"]), int(config["hidden"]))
        self._size = math.prod(self._shape)
        self._known = np.eye(len(config["frequencies_hz"]), dtype=np.float32)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(path, options)

    def is_state_length(self, length: int) -> bool:
        """Whether a state may have this length."""
        return length == self._size

    def answer(self, rows: list[Row]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return component [T] and state of each row; all signals have the same length."""
        signals = np.stack([row.signal for row in rows]).astype(np.float32)
        frequencies = self._known[[row.frequency for row in rows]]
        states = np.zeros((len(rows), *self._shape), np.float32)
        for state, row in zip(states, rows, strict=True):
            if len(row.state):
                state[:] = row.state.reshape(self._shape)
        after = list(np.ascontiguousarray(states.transpose(1, 2, 0, 3)))
        parts = []
        step = max(1, MAX_CELLS // len(rows))
        # A long row is answered in pieces: memory does not grow with its length.
        for at in range(0, signals.shape[1], step):
            feed = {
                "signal": signals[:, at : at + step],
                "frequency": frequencies,
                "hidden": after[0],
                "cell": after[1],
            }
            part, *after = self._session.run(["component", "hidden_after", "cell_after"], feed)
            parts.append(part)
        kept = np.stack(after).transpose(2, 0, 1, 3).reshape(len(rows), -1)
        components = np.concatenate(parts, axis=1).astype(float)
        return list(zip(components, kept.astype(float), strict=True))


def _check_signal(signal: Any) -> np.ndarray:
    samples = _check_numbers("signal", signal)
    if not 1 <= len(samples) <= MAX_SAMPLES:
        raise ValueError(
            f"signal: {len(samples):,} samples; a row has from 1 to {MAX_SAMPLES:,} samples"
        )
    return samples


def _check_numbers(name: str, values: Any) -> np.ndarray:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray):
        raise ValueError(f"{name}: expected an array of numbers, found {values!r:.60}")  # noqa: TRY004 (a bad row)
    try:
        array = np.array(values)
    except ValueError:
        raise ValueError(
            f"{name}: expected an array of numbers, found arrays of different lengths"
        ) from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "fiu"):
        raise ValueError(
            f"{name}: expected an array of numbers, found {array.dtype.name} "
            f"of {array.ndim} dimensions"
        )
    numbers = array.astype(float)
    too_large = np.abs(numbers).max(initial=0) > np.finfo(np.float32).max
    if too_large or not np.isfinite(numbers).all():
        raise ValueError(f"{name}: contains a number that is not finite")
    return numbers


def _batch_by_length(rows: list[Row]) -> list[list[int]]:
    """Group the places of rows of equal length, no more than MAX_CELLS samples at once."""
    by_length: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        by_length.setdefault(len(row.signal), []).append(place)
    batches = []
    for length, places in by_length.items():
        size = max(1, MAX_CELLS // length)
        batches += [places[at : at + size] for at in range(0, len(places), size)]
    return batches
