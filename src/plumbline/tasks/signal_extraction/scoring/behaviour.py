"""Does the winner know the obvious? It looks not ahead, may be asked in pieces, and is right where nothing disturbs."""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.task import Case, Predictor
from plumbline.tasks.signal_extraction.data import Setting, setting, windows
from plumbline.tasks.signal_extraction.params import SignalParams
from plumbline.tasks.signal_extraction.scoring.scores import inputs

NUM_ROWS = 64
SAME = 1e-4  # two answers closer than this are one
MAX_FAILURES = 5
CLOSER = 0.75  # of the error of silence, at the end of a window without noise


def behaviour(params: SignalParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Every behavioural test of `predictor`, on windows of the test split."""
    columns = {name: values[:NUM_ROWS] for name, values in inputs(examples, "test").items()}
    ids = windows(examples, "test").ids
    whole = _answers(predictor, columns)
    half = max(1, whole.shape[1] // 2)
    before = predictor.predict(_cut(columns, slice(None, half)))
    cases = [_alike("does not look ahead", ids, np.array(before["component"]), whole[:, :half])]
    if half < whole.shape[1]:
        rest = _cut(columns, slice(half, None)) | {"state": before["state"]}
        cases.append(
            _alike("continues from its state", ids, _answers(predictor, rest), whole[:, half:])
        )
    return [*cases, _without_noise(setting(examples), predictor)]


def _without_noise(made: Setting, predictor: Predictor) -> Case:
    """At the end of a window of the plain mixture, each component is nearer to the answer than to silence."""
    turns = made.turns(
        np.arange(made.window) + np.linspace(0, made.max_offset, 16, endpoint=False)[:, None]
    )
    waves = np.sin(
        turns + made.phase_scale * np.pi
    )  # [K, 16, L], amplitudes and phases at their mean
    height = (made.low + made.high) / 2
    signals, truth = (
        (height * waves).mean(axis=0).tolist(),
        waves if made.kind == "course" else height * waves,
    )
    passed, failures = 0, []
    for frequency, label, part in zip(
        made.frequencies_hz, made.labels, truth[:, :, -1], strict=True
    ):
        found = _answers(
            predictor, {"signal": signals, "frequency_hz": [frequency] * len(signals)}
        )[:, -1]
        share = float(((found - part) ** 2).mean() / (part**2).mean())
        passed += share <= CLOSER
        failures += [] if share <= CLOSER else [f"{label}: {share:.2f} of the error of silence"]
    return Case("plain mixture", "minimum", passed, len(truth), tuple(failures[:MAX_FAILURES]))


def _alike(name: str, ids: list[str], found: np.ndarray, expected: np.ndarray) -> Case:
    apart = np.abs(found - expected).max(axis=1)
    failures = [f"{ids[row]}: {apart[row]:.2g} apart" for row in np.flatnonzero(~(apart <= SAME))]
    return Case(
        name, "invariance", len(apart) - len(failures), len(apart), tuple(failures[:MAX_FAILURES])
    )


def _cut(columns: dict[str, list[Any]], part: slice) -> dict[str, list[Any]]:
    return columns | {"signal": [signal[part] for signal in columns["signal"]]}


def _answers(predictor: Predictor, columns: dict[str, list[Any]]) -> np.ndarray:
    return np.array(predictor.predict(columns)["component"])
