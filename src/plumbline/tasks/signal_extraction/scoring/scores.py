"""Scores of a predictor on one split, window by window and component by component.

Shapes: M windows, K components, L samples; a row is one window asked for one component.
"""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract import Predictor, Scores
from plumbline.tasks.signal_extraction.data import Windows, windows
from plumbline.tasks.signal_extraction.scoring.floor import floor

NUM_TRAIN = 200  # windows of train, against which generalisation is told


def inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """The predictor's columns for one split, in order."""
    return _asked(windows(examples, split))


def score(examples: Path, split: str, predictor: Predictor) -> Scores:
    """Score every row of `split`; ValueError where an answer is not as long as its signal."""
    import pandas as pd

    found = windows(examples, split)
    answers = answer(predictor, found)
    errors = (answers - found.components) ** 2
    per_row = errors.mean(axis=2).ravel()
    least = floor(found.setting)
    labels = found.setting.labels
    metrics = {
        "mse": float(per_row.mean()),
        "mse_last": float(errors[:, :, -1].mean()),
        "mae": float(np.abs(answers - found.components).mean()),
        "r": correlation(answers, found.components),
        "floor": float(least.mean()),
        "excess_over_floor": float(per_row.mean() - least.mean()),
        "generalisation_ratio": float(per_row.mean() / _train_error(examples, predictor)),
    }
    metrics |= {f"mse {label}": float(errors[:, place].mean()) for place, label in enumerate(labels)}
    by_sample = {"sample": np.arange(1, len(least) + 1), "mse": errors.mean(axis=(0, 1)), "floor": least}
    per_example = {"id": np.array(found.ids, dtype=object), "mse": per_row, "mse_last": errors[:, :, -1].ravel()}
    tables = {
        "by_sample": pd.DataFrame(by_sample),
        "shown": _shown(found, answers),
        "spectra": _spectra(found, answers),
    }
    return Scores(per_example, metrics, tables)


def answer(predictor: Predictor, found: Windows) -> np.ndarray:
    """The components [M, K, L] that a predictor recovers."""
    said = predictor.predict(_asked(found))["component"]
    if [len(row) for row in said] != [found.setting.window] * found.components[:, :, 0].size:
        raise ValueError("an answer is not as long as its signal")
    return np.array(said, dtype=float).reshape(found.components.shape)


def correlation(found: np.ndarray, truth: np.ndarray) -> float:
    """Pearson's r over all samples; 0 for answers that never change."""
    if np.ptp(found) == 0:
        return 0.0
    return float(np.corrcoef(found.ravel(), truth.ravel())[0, 1])


def _asked(found: Windows) -> dict[str, list[Any]]:
    frequencies = found.setting.frequencies_hz
    signals = [signal for signal in found.signals.tolist() for _ in frequencies]
    return {"signal": signals, "frequency_hz": list(frequencies) * len(found.signals)}


def _train_error(examples: Path, predictor: Predictor) -> float:
    """The mean squared error on windows from all over the train split."""
    found = windows(examples, "train")
    picked = np.unique(np.linspace(0, len(found.signals) - 1, NUM_TRAIN).astype(int))
    some = Windows(
        found.setting,
        [found.realisations[place] for place in picked],
        found.starts[picked],
        found.signals[picked],
        found.components[picked],
    )
    return float(((answer(predictor, some) - some.components) ** 2).mean())


def _shown(found: Windows, answers: np.ndarray) -> Any:
    """The first window, sample by sample: mixture, and truth and answer for each component."""
    import pandas as pd

    parts = {"seconds": np.arange(found.setting.window) / found.setting.sample_rate_hz, "mixture": found.signals[0]}
    for place, label in enumerate(found.setting.labels):
        parts |= {f"truth {label}": found.components[0, place], f"answer {label}": answers[0, place]}
    return pd.DataFrame(parts)


def _spectra(found: Windows, answers: np.ndarray) -> Any:
    """The mean amplitude spectrum of mixture, truth and answers over all windows."""
    import pandas as pd

    rate = found.setting.sample_rate_hz
    parts = {"frequency_hz": np.fft.rfftfreq(found.setting.window, 1 / rate), "mixture": _amplitude(found.signals)}
    for place, label in enumerate(found.setting.labels):
        parts[f"truth {label}"] = _amplitude(found.components[:, place])
        parts[f"answer {label}"] = _amplitude(answers[:, place])
    return pd.DataFrame(parts)


def _amplitude(signals: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.abs(np.fft.rfft(signals, axis=1)).mean(axis=0) * 2 / signals.shape[1]
    return found
