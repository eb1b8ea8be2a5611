"""The least possible mean squared error: of a posterior mean that knows the generator.

The position at which a window starts is unknown. Its posterior follows from the density of the
samples at each position (Bayes' rule), and the posterior's variance is the least possible error
(Kay 1993, Estimation Theory, section 10.4).

Shapes: M simulated windows, P positions, K components, L samples of a window, B cells of a sample's
value.
"""

import functools
from dataclasses import replace

import numpy as np

from tasks.signal_extraction.data.generators import draw_windows
from tasks.signal_extraction.data.setting import Setting

NUM_WINDOWS = 10_000  # simulated: the mean over them is within about 1 % of that over all
AT_ONCE = 500  # of them, to limit memory
CELLS = 2048  # of the value of a sample of the mixture
NUM_PHASES = 64  # over which the density of a component is averaged
# The probability of an impossible value: less than that of any window of possible values.
LEAST = 1e-15


@functools.lru_cache(maxsize=16)
def compute_floor(setting: Setting, num_windows: int = NUM_WINDOWS) -> np.ndarray:
    """Return the least mean squared error at each sample of a causal window [L].

    It is averaged over positions and components. Kind "course": exact, but for simulating
    `num_windows` windows. Else a lower bound: the least error of an estimator that also knows each
    realisation's amplitudes and phases, and has to find its offset only.
    """
    random = np.random.default_rng(0)
    # Starts are spread evenly: only noise is random.
    starts = np.linspace(0, setting.max_offset, num_windows, endpoint=False).astype(int)
    parts = np.array_split(random.permutation(starts), -(-num_windows // AT_ONCE))
    simulate = _simulate_published if setting.kind == "course" else _simulate_noisy
    errors = [simulate(setting, part, random) for part in parts]
    return np.average(errors, axis=0, weights=[len(part) for part in parts])


@functools.lru_cache(maxsize=4)
def compute_log_density(setting: Setting) -> tuple[np.ndarray, float]:
    """Return the log-density of a sample's value in kind "course", and the width of a cell.

    The density is the log-probability of each cell at each position [P, B]; cell b holds values
    around (b - B/2) * width. A component is A sin(angle + phase) / K: for a given phase uniform in
    a range, so its distribution function is known. The mixture's density is the convolution of its
    components'.
    """
    width = 2.1 * setting.high / CELLS
    edges = (np.arange(CELLS + 1) - CELLS / 2 - 0.5) * width * len(setting.frequencies_hz)
    phases = setting.phase_scale * 2 * np.pi * (np.arange(NUM_PHASES) + 0.5) / NUM_PHASES
    spectrum: np.ndarray | float = 1.0
    for angle in setting.compute_angles(np.arange(setting.max_offset)):
        chances = np.zeros((setting.max_offset, CELLS))
        for phase in phases:
            sines = np.sin(angle + phase)[:, None]
            chances += _compute_chances(setting, sines, edges) / NUM_PHASES
        spectrum = spectrum * np.fft.rfft(np.fft.ifftshift(chances, axes=1))
    mixture = np.fft.fftshift(np.fft.irfft(spectrum, CELLS), axes=1)
    return np.log(np.maximum(mixture, LEAST)), width


def _compute_chances(setting: Setting, sines: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the probability of each cell between `edges` for A * sine [P, B], A uniform."""
    ends = np.sort(np.concatenate([setting.low * sines, setting.high * sines], axis=1), axis=1)
    low, width = ends[:, :1], np.maximum(np.diff(ends), 1e-12)
    return np.diff(np.clip((edges - low) / width, 0, 1), axis=1)


def _simulate_published(
    setting: Setting, starts: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Mean posterior variance at each sample [L] over windows that start at `starts` [M]."""
    table, width = compute_log_density(replace(setting, window=1))  # equal for all window lengths
    signals, _ = draw_windows(setting, len(starts), random, starts)
    cells = np.rint(signals / width).astype(int) + CELLS // 2
    values = np.ascontiguousarray(table.T, np.float32)  # [B, P]
    angles = setting.compute_angles(np.arange(setting.max_offset))
    truth = np.sin(angles).astype(np.float32)  # [K, P]
    logs = np.zeros((len(starts), setting.max_offset), np.float32)
    errors = np.empty(setting.window)
    for sample in range(setting.window):  # the window's start p is at position p + sample now
        logs += np.roll(values[cells[:, sample]], -sample, axis=1)
        weights = _normalise(logs)
        now = np.roll(truth, -sample, axis=1).T
        errors[sample] = (weights @ now**2 - (weights @ now) ** 2).mean()
    return errors


def _simulate_noisy(
    setting: Setting, starts: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Mean posterior variance at each sample [L] over windows that start at `starts` [M]."""
    shape = (len(setting.frequencies_hz), len(starts), 1)
    amplitude = random.uniform(setting.low, setting.high, shape)
    phase = setting.phase_scale * random.uniform(0, 2 * np.pi, shape)
    angles = setting.compute_angles(np.arange(setting.max_offset + setting.window))[:, None]
    parts = (amplitude * np.sin(angles + phase)).astype(np.float32)  # [K, M, P + L]
    means = parts.mean(axis=0)
    signals = np.take_along_axis(means, starts[:, None] + np.arange(setting.window), axis=1)
    signals = signals + random.normal(0, setting.noise, signals.shape).astype(np.float32)
    logs = np.zeros((len(starts), setting.max_offset), np.float32)
    errors = np.empty(setting.window)
    for sample in range(setting.window):
        now = slice(sample, sample + setting.max_offset)
        logs -= (signals[:, sample, None] - means[:, now]) ** 2 / np.float32(2 * setting.noise**2)
        weights = _normalise(logs)
        expected = np.einsum("mp,kmp->km", weights, parts[:, :, now])
        squares = np.einsum("mp,kmp->km", weights, parts[:, :, now] ** 2)
        errors[sample] = (squares - expected**2).mean()
    return errors


def _normalise(logs: np.ndarray) -> np.ndarray:
    """Turn log-likelihoods [M, P] into posterior probabilities."""
    weights: np.ndarray = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
