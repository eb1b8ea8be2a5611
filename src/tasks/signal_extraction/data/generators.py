"""The generators: a mixture S of K sinusoids and the components to be recovered from it.

Shapes: M windows, K components, N samples. Signals are [M, N], components [M, K, N], in float64.
"""

import numpy as np

from tasks.signal_extraction.data.setting import Setting

Mixtures = tuple[np.ndarray, np.ndarray]  # signals and components


def draw_published(setting: Setting, seed: int, num_samples: int) -> Mixtures:
    """Draw one realisation of the published exercise: S [N] and sin(2 pi f t) [K, N].

    It is equal to the published one sample for sample: for each frequency in turn all amplitudes
    are drawn, then all phases, from RandomState(seed).
    """
    random = np.random.RandomState(seed)
    angles = setting.compute_angles(np.arange(num_samples))
    parts = np.empty_like(angles)
    for part, angle in zip(parts, angles, strict=True):
        amplitude = random.uniform(setting.low, setting.high, num_samples)
        phase = setting.phase_scale * random.uniform(0, 2 * np.pi, num_samples)
        part[:] = amplitude * np.sin(angle + phase)
    return parts.mean(axis=0), np.sin(angles)


def draw_windows(
    setting: Setting,
    num_windows: int,
    random: np.random.Generator,
    starts: np.ndarray | None = None,
) -> Mixtures:
    """Draw windows [M, L] and their components [M, K, L], independent of each other.

    They start at random samples before `max_offset`, or at `starts` [M].
    """
    if starts is None:
        starts = random.integers(0, setting.max_offset, num_windows)
    angles = setting.compute_angles(starts[:, None] + np.arange(setting.window))
    if setting.kind == "course":
        return _draw_published_windows(setting, angles, random)
    return _draw_noisy_windows(setting, angles, random)


def _draw_published_windows(
    setting: Setting, angles: np.ndarray, random: np.random.Generator
) -> Mixtures:
    """Windows of the published setting: noise is independent, so each is its own realisation."""
    amplitude = random.uniform(setting.low, setting.high, angles.shape)
    phase = setting.phase_scale * random.uniform(0, 2 * np.pi, angles.shape)
    return (amplitude * np.sin(angles + phase)).mean(axis=0), np.sin(angles).swapaxes(0, 1)


def _draw_noisy_windows(
    setting: Setting, angles: np.ndarray, random: np.random.Generator
) -> Mixtures:
    """Windows of constant amplitude and phase, with white noise of deviation `noise` on S."""
    shape = (*angles.shape[:2], 1)
    amplitude = random.uniform(setting.low, setting.high, shape)
    phase = setting.phase_scale * random.uniform(0, 2 * np.pi, shape)
    parts = amplitude * np.sin(angles + phase)
    noise = random.normal(0, setting.noise, parts.shape[1:])
    return parts.mean(axis=0) + noise, parts.swapaxes(0, 1)
