"""The least mean squared error that is possible: that of whoever knows the generator and answers the posterior mean.

The position at which a window begins is unknown. Its posterior follows from the density of the samples at each position
(Bayes' rule), and the posterior's variance is the least error there is (Kay 1993, Estimation Theory, section 10.4).

Shapes: M simulated windows, P positions, K components, L samples of a window, B cells of a sample's value.
"""

import functools
from dataclasses import replace

import numpy as np

from plumbline.tasks.signal_extraction.data.generators import draw
from plumbline.tasks.signal_extraction.data.setting import Setting

NUM_WINDOWS = 10_000  # simulated: the mean over them is within about 1 % of that over all
AT_ONCE = 500  # of them, for the sake of memory
CELLS = 2048  # of the value of a sample of the mixture
NUM_PHASES = 64  # over which the density of a component is averaged
LEAST = 1e-15  # the chance of a value that cannot be: less than any that a window of possible ones adds up to


@functools.lru_cache(maxsize=16)
def floor(setting: Setting, num_windows: int = NUM_WINDOWS) -> np.ndarray:
    """The least mean squared error at each sample of a causal window [L], averaged over positions and components.

    Course: exact, but for simulating `num_windows` windows. Honest: a lower bound, the least error of an estimator that
    is also told each realisation's amplitudes and phases, and has to find its offset alone.
    """
    random = np.random.default_rng(0)
    starts = np.linspace(0, setting.max_offset, num_windows, endpoint=False).astype(
        int
    )  # only noise is left to chance
    parts = np.array_split(random.permutation(starts), -(-num_windows // AT_ONCE))
    errors = [
        (_course if setting.kind == "course" else _honest)(setting, part, random) for part in parts
    ]
    return np.average(errors, axis=0, weights=[len(part) for part in parts])


@functools.lru_cache(maxsize=4)
def log_density(setting: Setting) -> tuple[np.ndarray, float]:
    """Course: the log-chance of each cell of a sample's value at each position [P, B], and the width of a cell.

    Cell b holds values around (b - B/2) * width. A component is A sin(turn + phase) / K: for a given phase uniform in a
    range, so its distribution function is known. The mixture's density is the convolution of its components'.
    """
    width = 2.1 * setting.high / CELLS
    edges = (np.arange(CELLS + 1) - CELLS / 2 - 0.5) * width * len(setting.frequencies_hz)
    phases = setting.phase_scale * 2 * np.pi * (np.arange(NUM_PHASES) + 0.5) / NUM_PHASES
    spectrum: np.ndarray | float = 1.0
    for turn in setting.turns(np.arange(setting.max_offset)):
        chances = np.zeros((setting.max_offset, CELLS))
        for phase in phases:
            chances += _uniform(setting, np.sin(turn + phase)[:, None], edges) / NUM_PHASES
        spectrum = spectrum * np.fft.rfft(np.fft.ifftshift(chances, axes=1))
    mixture = np.fft.fftshift(np.fft.irfft(spectrum, CELLS), axes=1)
    return np.log(np.maximum(mixture, LEAST)), width


def _uniform(setting: Setting, sines: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The chance of each cell between `edges` for A * sine [P, B], A uniform."""
    ends = np.sort(np.concatenate([setting.low * sines, setting.high * sines], axis=1), axis=1)
    low, width = ends[:, :1], np.maximum(np.diff(ends), 1e-12)
    return np.diff(np.clip((edges - low) / width, 0, 1), axis=1)


def _course(setting: Setting, starts: np.ndarray, random: np.random.Generator) -> np.ndarray:
    table, width = log_density(replace(setting, window=1))  # the same for windows of all lengths
    cells = np.rint(draw(setting, len(starts), random, starts)[0] / width).astype(int) + CELLS // 2
    values = np.ascontiguousarray(table.T, np.float32)  # [B, P]
    truth = np.sin(setting.turns(np.arange(setting.max_offset))).astype(np.float32)  # [K, P]
    logs = np.zeros((len(starts), setting.max_offset), np.float32)
    found = np.empty(setting.window)
    for sample in range(setting.window):  # position p of the window's start is p + sample now
        logs += np.roll(values, -sample, axis=1)[cells[:, sample]]
        weights, now = _posterior(logs), np.roll(truth, -sample, axis=1).T
        found[sample] = (weights @ now**2 - (weights @ now) ** 2).mean()
    return found


def _honest(setting: Setting, starts: np.ndarray, random: np.random.Generator) -> np.ndarray:
    shape = (len(setting.frequencies_hz), len(starts), 1)
    amplitude = random.uniform(setting.low, setting.high, shape)
    phase = setting.phase_scale * random.uniform(0, 2 * np.pi, shape)
    turns = setting.turns(np.arange(setting.max_offset + setting.window))[:, None]
    parts = (amplitude * np.sin(turns + phase)).astype(np.float32)  # [K, M, P + L]
    means = parts.mean(axis=0)
    signals = np.take_along_axis(means, starts[:, None] + np.arange(setting.window), axis=1)
    signals = signals + random.normal(0, setting.noise, signals.shape).astype(np.float32)
    logs = np.zeros((len(starts), setting.max_offset), np.float32)
    found = np.empty(setting.window)
    for sample in range(setting.window):
        now = slice(sample, sample + setting.max_offset)
        logs -= (signals[:, sample, None] - means[:, now]) ** 2 / np.float32(2 * setting.noise**2)
        weights = _posterior(logs)
        expected = np.einsum("mp,kmp->km", weights, parts[:, :, now])
        squares = np.einsum("mp,kmp->km", weights, parts[:, :, now] ** 2)
        found[sample] = (squares - expected**2).mean()
    return found


def _posterior(logs: np.ndarray) -> np.ndarray:
    weights: np.ndarray = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
