"""Scores of a predictor on one split, row by row.

Shapes: R rows, each a window asked for one component; K components, L samples.
"""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.task import Predictor, Scores
from plumbline.tasks.signal_extraction.data import Windows, windows
from plumbline.tasks.signal_extraction.scoring.floor import floor

NUM_TRAIN = 200  # windows of train, against which generalisation is told
SPECTRUM_TOP, NUM_BINS = (
    6,
    300,
)  # a spectrum is drawn up to so many times the highest frequency, at so many places


def inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """The predictor's columns for one split, in order."""
    return _asked(windows(examples, split))


def score(examples: Path, split: str, predictor: Predictor) -> Scores:
    """Score every row of `split`; ValueError where an answer is not as long as its signal."""
    import pandas as pd

    found = windows(examples, split)
    window, part = found.rows
    answers, truth = answer(predictor, found), found.components[window, part]
    errors = (answers - truth) ** 2
    per_row = errors.mean(axis=1)
    least = floor(found.setting)
    metrics = {
        "mse": float(per_row.mean()),
        "mse_last": float(errors[:, -1].mean()),
        "mae": float(np.abs(answers - truth).mean()),
        "r": correlation(answers, truth),
        "floor": float(least.mean()),
        "excess_over_floor": float(per_row.mean() - least.mean()),
        "generalisation_ratio": float(per_row.mean() / _train_error(examples, predictor)),
    }
    for place, label in enumerate(found.setting.labels):
        if (part == place).any():
            metrics[f"mse {label}"] = float(per_row[part == place].mean())
    by_sample = {"sample": np.arange(1, len(least) + 1), "mse": errors.mean(axis=0), "floor": least}
    per_example = {
        "id": np.array(found.ids, dtype=object),
        "mse": per_row,
        "mse_last": errors[:, -1],
    }
    tables = {
        "by_sample": pd.DataFrame(by_sample),
        "shown": _shown(found, predictor),
        "spectra": _spectra(found, answers),
    }
    return Scores(per_example, metrics, tables)


def answer(predictor: Predictor, found: Windows) -> np.ndarray:
    """What a predictor recovers in each row [R, L]."""
    asked = _asked(found)
    said = predictor.predict(asked)["component"]
    if [len(row) for row in said] != [len(signal) for signal in asked["signal"]]:
        raise ValueError("an answer is not as long as its signal")
    return np.array(said, dtype=float)


def correlation(found: np.ndarray, truth: np.ndarray) -> float:
    """Pearson's r over all samples; 0 for answers that never change."""
    if np.ptp(found) == 0:
        return 0.0
    return float(np.corrcoef(found.ravel(), truth.ravel())[0, 1])


def _asked(found: Windows) -> dict[str, list[Any]]:
    window, part = found.rows
    signals = found.signals.tolist()
    return {
        "signal": [signals[place] for place in window],
        "frequency_hz": [found.setting.frequencies_hz[place] for place in part],
    }


def _some(found: Windows, picked: np.ndarray, asked_once: bool) -> Windows:
    return Windows(
        found.setting,
        [found.realisations[place] for place in picked],
        found.starts[picked],
        found.signals[picked],
        found.components[picked],
        asked_once,
    )


def _train_error(examples: Path, predictor: Predictor) -> float:
    """The mean squared error on windows from all over the train split."""
    found = windows(examples, "train")
    picked = np.unique(np.linspace(0, len(found.signals) - 1, NUM_TRAIN).astype(int))
    some = _some(found, picked, asked_once=True)
    return float(((answer(predictor, some) - some.components[some.rows]) ** 2).mean())


def _shown(found: Windows, predictor: Predictor) -> Any:
    """The first window, sample by sample: mixture, and truth and answer for each component."""
    import pandas as pd

    first = _some(found, np.array([0]), asked_once=False)
    answers = answer(predictor, first)
    parts = {
        "seconds": np.arange(found.setting.window) / found.setting.sample_rate_hz,
        "mixture": first.signals[0],
    }
    for place, label in enumerate(found.setting.labels):
        parts |= {f"truth {label}": first.components[0, place], f"answer {label}": answers[place]}
    return pd.DataFrame(parts)


def _spectra(found: Windows, answers: np.ndarray) -> Any:
    """The mean amplitude spectrum of mixture, truth and answers over all windows, up to SPECTRUM_TOP."""
    import pandas as pd

    (window, part), rate = found.rows, found.setting.sample_rate_hz
    frequencies = np.linspace(
        0, min(rate / 2, SPECTRUM_TOP * max(found.setting.frequencies_hz)), NUM_BINS
    )
    waves = np.exp(-2j * np.pi * frequencies * np.arange(found.setting.window)[:, None] / rate)

    def amplitude(signals: np.ndarray) -> np.ndarray:
        mean: np.ndarray = np.abs(signals @ waves).mean(axis=0) * 2 / found.setting.window
        return mean

    parts = {"frequency_hz": frequencies, "mixture": amplitude(found.signals)}
    for place, label in enumerate(found.setting.labels):
        asked = part == place
        if asked.any():
            parts[f"truth {label}"] = amplitude(found.components[window[asked], place])
            parts[f"answer {label}"] = amplitude(answers[asked])
    return pd.DataFrame(parts)
