"""Recovers one component of a mixture, whole or in pieces; copied into every bundle, so it stands alone: no plumbline.

A row's answer at a sample rests on the samples up to it. The state that comes with it, given back with the samples that
follow, continues the answer as if all had been asked at once.
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
    """One row, checked."""

    signal: np.ndarray  # [T]
    frequency: int  # its place among those that the model knows
    state: np.ndarray  # [S]; empty where a signal begins


def load(folder: Path | str, form: str | None = None) -> "Predictor":
    """The predictor of the bundle in `folder`; ValueError for a form that it lacks."""
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
        self.sample_rate_hz: float = config["sample_rate_hz"]
        fir = config["kind"] == "fir"
        path = folder / ("model.safetensors" if fir else "model.onnx")
        self.num_bytes = path.stat().st_size
        self._model = Filters(load_file(path)["filters"]) if fir else Lstm(path, config)

    def predict(
        self, columns: Mapping[str, Sequence[Any]], sample_rate_hz: float | None = None
    ) -> dict[str, list[Any]]:
        """The component named by each row's `frequency_hz`, as long as its `signal`, and the state after it.

        A column `state` continues rows where an earlier answer ended. Raises ValueError that names a bad row.
        """
        if sample_rate_hz is not None and sample_rate_hz != self.sample_rate_hz:
            raise ValueError(
                f"sample_rate_hz: {sample_rate_hz!r}; the model knows {self.sample_rate_hz:g}: resample the signal"
            )
        for name in ("signal", "frequency_hz"):
            if name not in columns:
                raise ValueError(
                    f"no column {name!r}; found {', '.join(map(repr, columns)) or 'no columns'}"
                )
        states = columns.get("state", [None] * len(columns["signal"]))
        if not len(columns["signal"]) == len(columns["frequency_hz"]) == len(states):
            raise ValueError(
                "columns of different lengths: every row has a signal and a frequency_hz"
            )
        asked = zip(columns["signal"], columns["frequency_hz"], states, strict=True)
        rows = [self._checked(number, *row) for number, row in enumerate(asked)]
        found: list[Any] = [None] * len(rows)
        for batch in _batches(rows):
            for place, answer in zip(
                batch, self._model.answer([rows[place] for place in batch]), strict=True
            ):
                found[place] = answer
        return {
            "component": [said.tolist() for said, _ in found],
            "state": [after.tolist() for _, after in found],
        }

    def _checked(self, number: int, signal: Any, frequency: Any, state: Any) -> Row:
        try:
            return Row(_samples(signal), self._place(frequency), self._known(state))
        except ValueError as error:
            raise ValueError(f"row {number}: {error}") from None

    def _place(self, frequency: Any) -> int:
        if isinstance(frequency, bool) or not isinstance(frequency, int | float | np.number):
            raise ValueError(f"frequency_hz: expected a number, found {frequency!r:.60}")  # noqa: TRY004 (a bad row)
        for place, known in enumerate(self.frequencies_hz):
            if known - SAME_HZ <= frequency <= known + SAME_HZ:
                return place
        listed = ", ".join(f"{known:g}" for known in self.frequencies_hz)
        raise ValueError(f"frequency_hz: {frequency!r:.60}; the model knows {listed}")

    def _known(self, state: Any) -> np.ndarray:
        if state is None or (
            isinstance(state, float) and math.isnan(state)
        ):  # as pandas has a missing one
            return np.empty(0)
        found = _numbers("state", state)
        if len(found) and not self._model.fits(len(found)):
            raise ValueError(f"state: {len(found)} numbers; give back what this model gave, whole")
        return found


class Filters:
    """A bank of FIR filters [K, W, W]; the state is the last W - 1 samples, or all if there were fewer."""

    def __init__(self, filters: np.ndarray) -> None:
        self._filters, self._taps = filters, int(filters.shape[1])

    def fits(self, length: int) -> bool:
        """Whether a state may be so long."""
        return length < self._taps

    def answer(self, rows: list[Row]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Component [T] and state of each row."""
        return [self._one(row) for row in rows]

    def _one(self, row: Row) -> tuple[np.ndarray, np.ndarray]:
        filters, taps = self._filters[row.frequency], self._taps
        samples = np.concatenate([row.state, row.signal])
        begin = filters[: len(samples), : len(samples)] @ samples[:taps]
        rest = (
            np.convolve(samples, filters[-1][::-1], "valid")[1:]
            if len(samples) > taps
            else np.empty(0)
        )
        found = np.concatenate([begin, rest])[len(row.state) :]
        return found, samples[max(0, len(samples) - taps + 1) :]


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

    def fits(self, length: int) -> bool:
        """Whether a state may be so long."""
        return length == self._size

    def answer(self, rows: list[Row]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Component [T] and state of each row; all signals are equally long."""
        signals = np.stack([row.signal for row in rows]).astype(np.float32)
        frequencies = self._known[[row.frequency for row in rows]]
        states = np.zeros((len(rows), *self._shape), np.float32)
        for state, row in zip(states, rows, strict=True):
            if len(row.state):
                state[:] = row.state.reshape(self._shape)
        after = list(np.ascontiguousarray(states.transpose(1, 2, 0, 3)))
        parts, step = [], max(1, MAX_CELLS // len(rows))
        for at in range(
            0, signals.shape[1], step
        ):  # a long row piece by piece: memory does not grow with it
            feed = {
                "signal": signals[:, at : at + step],
                "frequency": frequencies,
                "hidden": after[0],
                "cell": after[1],
            }
            part, *after = self._session.run(["component", "hidden_after", "cell_after"], feed)
            parts.append(part)
        kept = np.stack(after).transpose(2, 0, 1, 3).reshape(len(rows), -1)
        return list(
            zip(np.concatenate(parts, axis=1).astype(float), kept.astype(float), strict=True)
        )


def _samples(signal: Any) -> np.ndarray:
    found = _numbers("signal", signal)
    if not 1 <= len(found) <= MAX_SAMPLES:
        raise ValueError(
            f"signal: {len(found):,} samples; from 1 to {MAX_SAMPLES:,} are answered at once"
        )
    return found


def _numbers(name: str, values: Any) -> np.ndarray:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray):
        raise ValueError(f"{name}: expected an array of numbers, found {values!r:.60}")  # noqa: TRY004 (a bad row)
    try:
        found = np.array(values)
    except ValueError:
        raise ValueError(
            f"{name}: expected an array of numbers, found arrays of different lengths"
        ) from None
    if found.ndim != 1 or (found.size and found.dtype.kind not in "fiu"):
        raise ValueError(
            f"{name}: expected an array of numbers, found {found.dtype.name} of {found.ndim} dimensions"
        )
    found = found.astype(float)
    if not np.isfinite(found).all() or np.abs(found).max(initial=0) > np.finfo(np.float32).max:
        raise ValueError(f"{name}: holds a number that is not finite")
    return found


def _batches(rows: list[Row]) -> list[list[int]]:
    """Rows of equal length together, no more than MAX_CELLS at once."""
    by_length: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        by_length.setdefault(len(row.signal), []).append(place)
    found = []
    for length, places in by_length.items():
        size = max(1, MAX_CELLS // length)
        found += [places[at : at + size] for at in range(0, len(places), size)]
    return found
