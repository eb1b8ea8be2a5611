"""Scores of a predictor on one split, row by row.

Shapes: R rows, each a window asked for one component; K components, L samples.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from tasks.signal_extraction.data.windows import Windows, list_inputs, read_windows
from tasks.signal_extraction.scoring.floor import compute_floor

if TYPE_CHECKING:
    import pandas as pd


def score_answer(answer: Mapping[str, Any], truth: str) -> float:
    """The share of the variance of `truth`, a JSON list, that the component explains."""
    right, given = np.array(json.loads(truth), float), np.array(answer["component"], float)
    if not right.any():
        raise ValueError("a component of zeros has no variance to explain")
    return max(0.0, 1 - float(np.square(given - right).sum() / np.square(right).sum()))


def score(examples: Path, split: str, predictor: Predictor) -> Scores:
    """Score every row of `split`; ValueError if an answer is not as long as its signal."""
    import pandas as pd

    windows = read_windows(examples, split)
    window, part = windows.rows
    answers, truth = answer_windows(predictor, windows), windows.components[window, part]
    errors = (answers - truth) ** 2
    per_row = errors.mean(axis=1)
    floor = compute_floor(windows.setting)
    metrics = {
        "mse": float(per_row.mean()),
        "mse_last": float(errors[:, -1].mean()),
        "floor": float(floor.mean()),
        "excess_over_floor": float(per_row.mean() - floor.mean()),
    }
    for place, label in enumerate(windows.setting.labels):
        if (part == place).any():
            metrics[f"mse {label}"] = float(per_row[part == place].mean())
    by_sample = {"sample": np.arange(1, len(floor) + 1), "mse": errors.mean(axis=0), "floor": floor}
    per_example = {
        "id": np.array(windows.name_rows(split), dtype=object),
        "mse": per_row,
        "mse_last": errors[:, -1],
    }
    tables = {
        "by_sample": pd.DataFrame(by_sample),
        "shown": _build_first_window(windows, predictor),
    }
    return Scores(per_example, metrics, tables)


def answer_windows(predictor: Predictor, windows: Windows) -> np.ndarray:
    """Return what a predictor recovers in each row [R, L]."""
    columns = list_inputs(windows)
    components = predictor.predict(columns)["component"]
    if [len(row) for row in components] != [len(signal) for signal in columns["signal"]]:
        raise ValueError("an answer is not as long as its signal")
    return np.array(components, dtype=float)


def _build_first_window(windows: Windows, predictor: Predictor) -> "pd.DataFrame":
    """The first window, sample by sample: the mixture, each component and its answer."""
    import pandas as pd

    setting = windows.setting
    first = Windows(setting, windows.signals[:1], windows.components[:1])
    answers = answer_windows(predictor, first)
    columns = {
        "seconds": np.arange(setting.window) / setting.sample_rate_hz,
        "mixture": first.signals[0],
    }
    for place, label in enumerate(setting.labels):
        columns[f"truth {label}"] = first.components[0, place]
        columns[f"answer {label}"] = answers[place]
    return pd.DataFrame(columns)
