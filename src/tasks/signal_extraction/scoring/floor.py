"""The least possible mean squared error: of a posterior mean that knows the generator.

The position at which a window starts is unknown. Its posterior follows from the density of the
samples at each position (Bayes' rule), and the posterior's variance is the least possible error
(Kay 1993, Estimation Theory, section 10.4).

Shapes: M simulated windows, P positions, K components, L samples of a window.
"""

import functools

import numpy as np

from tasks.signal_extraction.data.setting import Setting

NUM_WINDOWS = 10_000  # simulated: the mean over them is within about 1 % of that over all
AT_ONCE = 500  # of them, to limit memory


@functools.lru_cache(maxsize=16)
def compute_floor(setting: Setting, num_windows: int = NUM_WINDOWS) -> np.ndarray:
    """Return the least mean squared error at each sample of a causal window [L].

    It is averaged over positions and components, and a lower bound: the least error of an estimator
    that also knows each realisation's amplitudes and phases, and has to find its offset only.
    """
    random = np.random.default_rng(0)
    # Starts are spread evenly: only noise is random.
    starts = np.linspace(0, setting.max_offset, num_windows, endpoint=False).astype(int)
    parts = np.array_split(random.permutation(starts), -(-num_windows // AT_ONCE))
    errors = [_simulate(setting, part, random) for part in parts]
    return np.average(errors, axis=0, weights=[len(part) for part in parts])


def _simulate(setting: Setting, starts: np.ndarray, random: np.random.Generator) -> np.ndarray:
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
