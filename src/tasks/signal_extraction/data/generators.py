"""The generator: a mixture S of K sinusoids and the components to be recovered from it."""

import numpy as np

from tasks.signal_extraction.data.setting import Setting


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
