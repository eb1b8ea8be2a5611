"""The simple baselines, and the least possible error."""

from pathlib import Path
from typing import Any

from plumbline.contract.records import Bound
from plumbline.contract.task import Columns, Predictor
from tasks.signal_extraction.data.windows import read_setting, read_windows
from tasks.signal_extraction.params import SignalParams
from tasks.signal_extraction.scoring.floor import compute_floor


class Silence:
    """Answers nothing but zeros."""

    forms = ("exact",)

    def predict(self, columns: Columns, **_: Any) -> dict[str, list[Any]]:
        """Answer zeros, as many as there are samples."""
        return {"component": [[0.0] * len(signal) for signal in columns["signal"]]}


class Gain:
    """The mixture times a constant: least squares on one sample of the train split."""

    forms = ("exact",)

    def __init__(self, gains: dict[float, float]) -> None:
        self._gains = gains

    def predict(self, columns: Columns, **_: Any) -> dict[str, list[Any]]:
        """Answer each signal, scaled."""
        components = []
        for signal, frequency in zip(columns["signal"], columns["frequency_hz"], strict=True):
            gain = self._gains[frequency]
            components.append([gain * sample for sample in signal])
        return {"component": components}


def build_baselines(params: SignalParams, examples: Path) -> dict[str, Predictor]:
    """Return the predictors that any candidate has to beat."""
    train = read_windows(examples, "train")
    samples, parts = train.signals[:, -1], train.components[:, :, -1]
    gains = samples @ parts / (samples @ samples)
    gain_by_frequency = dict(zip(train.setting.frequencies_hz, gains.tolist(), strict=True))
    return {"silence": Silence(), "gain": Gain(gain_by_frequency)}


def compute_bound(params: SignalParams, examples: Path, split: str) -> Bound:
    """Return the least mean squared error, by the setting that the data come from."""
    setting = read_setting(examples)
    return Bound(
        float(compute_floor(setting).mean()),
        f"an observer that sees {setting.window} samples at {setting.sample_rate_hz} Hz and knows "
        "all amplitudes and phases still has this error, because it does not know the offset",
    )
