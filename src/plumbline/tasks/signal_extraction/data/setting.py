"""How the data were generated, as it stands beside them: models and scores ask it, not params."""

from dataclasses import dataclass

import numpy as np

from plumbline.tasks.signal_extraction.params import Course, Honest


@dataclass(frozen=True)
class Setting:
    """All that decides the distribution of a window; hashable, so that what follows from it is computed once.

    K components. `noise` is 0 and `max_offset` one period of 1 s where amplitude and phase change with every sample.
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
    def of(cls, data: Course | Honest) -> "Setting":
        """What params say."""
        if isinstance(data, Honest):
            stride, max_offset, noise = (
                data.window,
                round(data.max_offset_s * data.sample_rate_hz),
                data.noise,
            )
        else:
            stride, max_offset, noise = data.stride, data.sample_rate_hz, 0.0
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
        """The components' names, in their order."""
        return [f"{frequency:g} Hz" for frequency in self.frequencies_hz]

    def turns(self, samples: np.ndarray) -> np.ndarray:
        """The angles 2 pi f t in radians, shape (K, *samples.shape), at sample numbers `samples`."""
        rates = np.array(self.frequencies_hz).reshape(-1, *[1] * samples.ndim)
        return 2 * np.pi * rates * (samples / self.sample_rate_hz)
