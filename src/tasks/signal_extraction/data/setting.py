"""How the data were generated, written beside them: models and scores read it, not params."""

from dataclasses import dataclass

import numpy as np

from tasks.signal_extraction.params import NoisyMixture, PublishedMixture


@dataclass(frozen=True)
class Setting:
    """All that decides the distribution of a window; hashable, so that results can be cached.

    K components. If amplitude and phase change with every sample (kind "course"), `noise` is 0 and
    `max_offset` is one period of 1 s.
    """

    kind: str
    frequencies_hz: tuple[float, ...]
    sample_rate_hz: int
    low: float  # amplitudes are uniform from here
    high: float
    phase_scale: float
    window: int  # samples
    stride: int  # samples from one held-out window to the next
    max_offset: int  # samples
    noise: float

    @classmethod
    def from_params(cls, data: PublishedMixture | NoisyMixture) -> "Setting":
        """Return what params say."""
        if isinstance(data, NoisyMixture):
            stride = data.window
            max_offset = round(data.max_offset_s * data.sample_rate_hz)
            noise = data.noise
        else:
            stride = data.stride
            max_offset = data.sample_rate_hz
            noise = 0.0
        return cls(
            kind=data.kind,
            frequencies_hz=tuple(float(frequency) for frequency in data.frequencies_hz),
            sample_rate_hz=data.sample_rate_hz,
            low=data.amplitude.low,
            high=data.amplitude.high,
            phase_scale=data.phase_scale,
            window=data.window,
            stride=stride,
            max_offset=max(1, max_offset),
            noise=noise,
        )

    @property
    def labels(self) -> list[str]:
        """The names of the components, in their order."""
        return [f"{frequency:g} Hz" for frequency in self.frequencies_hz]

    def compute_angles(self, samples: np.ndarray) -> np.ndarray:
        """Compute 2 pi f t in radians, shape (K, *samples.shape), at sample numbers `samples`."""
        rates = np.array(self.frequencies_hz).reshape(-1, *[1] * samples.ndim)
        return 2 * np.pi * rates * (samples / self.sample_rate_hz)
