"""What almost nothing reaches, and what nothing can surpass: the simple baselines and the least possible error."""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.task import Bound, Columns, Predictor
from plumbline.tasks.signal_extraction.data import Setting, setting, windows
from plumbline.tasks.signal_extraction.params import SignalParams
from plumbline.tasks.signal_extraction.scoring.floor import floor


class Silence:
    """Answers nothing but zeros."""

    forms = ("exact",)

    def predict(self, columns: Columns, **_: Any) -> dict[str, list[Any]]:
        """Zeros, as many as there are samples."""
        return {"component": [[0.0] * len(signal) for signal in columns["signal"]]}


class Oscillator:
    """Ignores its input: a sine of the frequency asked for that begins with the window."""

    forms = ("exact",)

    def __init__(self, sample_rate_hz: float) -> None:
        self._rate = sample_rate_hz

    def predict(self, columns: Columns, **_: Any) -> dict[str, list[Any]]:
        """The sine, of amplitude 1."""
        asked = zip(columns["signal"], columns["frequency_hz"], strict=True)
        return {"component": [self._sine(len(signal), frequency) for signal, frequency in asked]}

    def _sine(self, num_samples: int, frequency_hz: float) -> list[float]:
        found: list[float] = np.sin(
            2 * np.pi * frequency_hz * np.arange(num_samples) / self._rate
        ).tolist()
        return found


class Gain:
    """The mixture itself, times what fits the train split best: least squares on one sample."""

    forms = ("exact",)

    def __init__(self, gains: dict[float, float]) -> None:
        self._gains = gains

    def predict(self, columns: Columns, **_: Any) -> dict[str, list[Any]]:
        """Each signal, scaled."""
        asked = zip(columns["signal"], columns["frequency_hz"], strict=True)
        return {
            "component": [
                [self._gains[frequency] * x for x in signal] for signal, frequency in asked
            ]
        }


def baselines(params: SignalParams, examples: Path) -> dict[str, Predictor]:
    """The predictors that any candidate has to beat."""
    train = windows(examples, "train")
    samples, parts = train.signals[:, -1], train.components[:, :, -1]
    gains = samples @ parts / (samples @ samples)
    scaled = dict(zip(train.setting.frequencies_hz, gains.tolist(), strict=True))
    return {
        "silence": Silence(),
        "oscillator": Oscillator(train.setting.sample_rate_hz),
        "gain": Gain(scaled),
    }


def bounds(params: SignalParams, examples: Path, split: str) -> Bound:
    """The least mean squared error, by the setting that the data come from."""
    made = setting(examples)
    return Bound(float(floor(made).mean()), _reason(made))


def _reason(made: Setting) -> str:
    seen = f"{made.window} samples at {made.sample_rate_hz} Hz"
    if made.kind == "course":
        return f"who knows the generator and sees {seen} of it errs by this: the variance of the position's posterior"
    return f"who sees {seen} and is told all amplitudes and phases still errs by this, for want of the offset"
