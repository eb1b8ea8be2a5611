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
