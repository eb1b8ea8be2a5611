"""Does the winner know the obvious?

It does not look ahead, can be asked in pieces, and is right if there is no noise.
"""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Case
from plumbline.contract.task import Predictor
from tasks.signal_extraction.data import read_inputs
from tasks.signal_extraction.data.setting import Setting
from tasks.signal_extraction.data.windows import read_setting, read_windows
from tasks.signal_extraction.params import SignalParams

NUM_ROWS = 64
SAME = 1e-4  # two answers closer than this are equal
MAX_SHARE = 0.75  # of the error of silence, at the end of a window without noise
NUM_STARTS = 16


def check_behaviour(params: SignalParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Run every behavioural test of `predictor`, on windows of the test split."""
    columns = {name: values[:NUM_ROWS] for name, values in read_inputs(examples, "test").items()}
    ids = read_windows(examples, "test").name_rows("test")
    whole = _answer_rows(predictor, columns)
    half = max(1, whole.shape[1] // 2)
    before = predictor.predict(_cut_signals(columns, slice(None, half)))
    first_half = np.array(before["component"])
    cases = [_compare_answers("does not look ahead", ids, first_half, whole[:, :half])]
    if half < whole.shape[1]:
        rest = _cut_signals(columns, slice(half, None)) | {"state": before["state"]}
        second_half = _answer_rows(predictor, rest)
        cases.append(
            _compare_answers("continues from its state", ids, second_half, whole[:, half:])
        )
    cases.append(_check_plain_mixture(read_setting(examples), predictor))
    return cases


def _check_plain_mixture(setting: Setting, predictor: Predictor) -> Case:
    """At the end of a noiseless window, each component is nearer to the answer than silence is."""
    starts = np.linspace(0, setting.max_offset, NUM_STARTS, endpoint=False)
    angles = setting.compute_angles(np.arange(setting.window) + starts[:, None])
    # Amplitudes and phases are at their means: [K, NUM_STARTS, L].
    waves = np.sin(angles + setting.phase_scale * np.pi)
    amplitude = (setting.low + setting.high) / 2
    truth = amplitude * waves
    signals = truth.mean(axis=0).tolist()
    failures = []
    for part, label in enumerate(setting.labels):
        frequencies = [setting.frequencies_hz[part]] * len(signals)
        answers = _answer_rows(predictor, {"signal": signals, "frequency_hz": frequencies})
        expected = truth[part, :, -1]
        share = float(((answers[:, -1] - expected) ** 2).mean() / (expected**2).mean())
        if not share <= MAX_SHARE:  # NaN fails
            failures.append(f"{label}: {share:.2f} of the error of silence")
    return Case.build("plain mixture", "minimum", failures, len(truth))


def _compare_answers(name: str, ids: list[str], answers: np.ndarray, expected: np.ndarray) -> Case:
    differences = np.abs(answers - expected).max(axis=1)
    failed = np.flatnonzero(~(differences <= SAME))  # NaN fails
    failures = [f"{ids[row]}: {differences[row]:.2g} apart" for row in failed]
    return Case.build(name, "invariance", failures, len(differences))


def _cut_signals(columns: dict[str, list[Any]], part: slice) -> dict[str, list[Any]]:
    return columns | {"signal": [signal[part] for signal in columns["signal"]]}


def _answer_rows(predictor: Predictor, columns: dict[str, list[Any]]) -> np.ndarray:
    return np.array(predictor.predict(columns)["component"])
