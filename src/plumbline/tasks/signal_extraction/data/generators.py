"""The generators: a mixture S of K sinusoids and the components to be recovered from it.

Shapes: M windows, K components, N samples. Signals are [M, N], components [M, K, N], in float64.
"""

import numpy as np

from plumbline.tasks.signal_extraction.data.setting import Setting

Drawn = tuple[np.ndarray, np.ndarray]  # signals and components


def published(setting: Setting, seed: int, num_samples: int) -> Drawn:
    """One realisation of the published exercise, sample for sample: S [N] and sin(2 pi f t) [K, N].

    For each frequency in turn all amplitudes are drawn, then all phases, from RandomState(seed).
    """
    random = np.random.RandomState(seed)
    turns = setting.turns(np.arange(num_samples))
    parts = np.empty_like(turns)
    for part, turn in zip(parts, turns, strict=True):
        amplitude = random.uniform(setting.low, setting.high, num_samples)
        phase = setting.phase_scale * random.uniform(0, 2 * np.pi, num_samples)
        part[:] = amplitude * np.sin(turn + phase)
    return parts.mean(axis=0), np.sin(turns)


def draw(
    setting: Setting,
    num_windows: int,
    random: np.random.Generator,
    starts: np.ndarray | None = None,
) -> Drawn:
    """Windows [M, L] and their components [M, K, L], independent of each other.

    They begin at random samples before `max_offset`, or at `starts` [M].
    """
    if starts is None:
        starts = random.integers(0, setting.max_offset, num_windows)
    turns = setting.turns(starts[:, None] + np.arange(setting.window))
    return (_course if setting.kind == "course" else _honest)(setting, turns, random)


def _course(setting: Setting, turns: np.ndarray, random: np.random.Generator) -> Drawn:
    """Windows of the published setting: since noise is independent, each is one of a realisation of its own."""
    amplitude = random.uniform(setting.low, setting.high, turns.shape)
    phase = setting.phase_scale * random.uniform(0, 2 * np.pi, turns.shape)
    return (amplitude * np.sin(turns + phase)).mean(axis=0), np.sin(turns).swapaxes(0, 1)


def _honest(setting: Setting, turns: np.ndarray, random: np.random.Generator) -> Drawn:
    """Realisations of constant amplitude and phase, and white noise of standard deviation `noise` on their mean."""
    shape = (*turns.shape[:2], 1)
    amplitude = random.uniform(setting.low, setting.high, shape)
    phase = setting.phase_scale * random.uniform(0, 2 * np.pi, shape)
    parts = amplitude * np.sin(turns + phase)
    return parts.mean(axis=0) + random.normal(0, setting.noise, parts.shape[1:]), parts.swapaxes(
        0, 1
    )
