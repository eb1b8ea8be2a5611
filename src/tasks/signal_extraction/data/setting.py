"""How the data were generated, written beside them: models and scores read it, not params."""

from dataclasses import dataclass

import numpy as np

from tasks.signal_extraction.params import NoisyMixture


@dataclass(frozen=True)
class Setting:
    """All that decides the distribution of a window; hashable, so that results can be cached."""

    frequencies_hz: tuple[float, ...]
    sample_rate_hz: int
    low: float  # amplitudes are uniform from here
    high: float
    phase_scale: float
    window: int  # samples
    max_offset: int  # samples
    noise: float

    @classmethod
    def from_params(cls, data: NoisyMixture) -> "Setting":
        """Return what params say."""
        return cls(
            frequencies_hz=tuple(data.frequencies_hz),
            sample_rate_hz=data.sample_rate_hz,
            low=data.amplitude.low,
            high=data.amplitude.high,
            phase_scale=data.phase_scale,
            window=data.window,
            max_offset=max(1, round(data.max_offset_s * data.sample_rate_hz)),
            noise=data.noise,
        )

    @property
    def labels(self) -> list[str]:
        """The names of the components, in their order."""
        return [f"{frequency:g} Hz" for frequency in self.frequencies_hz]

    def compute_angles(self, samples: np.ndarray) -> np.ndarray:
        """Compute 2 pi f t in radians, shape (K, *samples.shape), at sample numbers `samples`."""
        rates = np.array(self.frequencies_hz).reshape(-1, *[1] * samples.ndim)
        return 2 * np.pi * rates * (samples / self.sample_rate_hz)


def draw_windows(
    setting: Setting,
    num_windows: int,
    random: np.random.Generator,
    starts: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw windows [M, L] and their components [M, K, L], independent of each other, in float64.

    They start at random samples before `max_offset`, or at `starts` [M]. Amplitude and phase are
    constant in a window; the mean of the components has white noise of deviation `noise`.
    """
    if starts is None:
        starts = random.integers(0, setting.max_offset, num_windows)
    angles = setting.compute_angles(starts[:, None] + np.arange(setting.window))
    shape = (*angles.shape[:2], 1)
    amplitude = random.uniform(setting.low, setting.high, shape)
    phase = setting.phase_scale * random.uniform(0, 2 * np.pi, shape)
    parts = amplitude * np.sin(angles + phase)
    noise = random.normal(0, setting.noise, parts.shape[1:])
    return parts.mean(axis=0) + noise, parts.swapaxes(0, 1)
