"""The frequency at which a signal has its peak, also if it is shorter than a period."""

import numpy as np

STEP_HZ = 0.05
PARTS = 8  # the first search divides the width of a peak (1 / the signal's length) by this


def find_peaks(signals: np.ndarray, sample_rate_hz: float, top_hz: float) -> np.ndarray:
    """Return the frequency in Hz [...] of the sinusoid that best fits each signal [..., N].

    Best in the sense of least squares. The least squares periodogram (Lomb 1976): a Fourier
    transform would need whole periods. Frequencies are tried up to half the sample rate or
    `top_hz`, then every STEP_HZ around the best.
    """
    flat = signals.reshape(-1, signals.shape[-1])
    seconds = np.arange(flat.shape[1]) / sample_rate_hz
    nyquist = sample_rate_hz / 2
    step = max(STEP_HZ, sample_rate_hz / flat.shape[1] / PARTS)
    end = max(min(top_hz, nyquist), 2 * STEP_HZ)
    rough = _find_best(flat, seconds, np.arange(STEP_HZ, end, step))
    peaks = rough.copy()
    for frequency in np.unique(rough):
        same = rough == frequency
        start, end = max(STEP_HZ, frequency - step), min(frequency + step, nyquist)
        peaks[same] = _find_best(flat[same], seconds, np.arange(start, end, STEP_HZ))
    return peaks.reshape(signals.shape[:-1])


def _find_best(signals: np.ndarray, seconds: np.ndarray, tried: np.ndarray) -> np.ndarray:
    """Return which of the frequencies `tried` fits each signal [M, N] best [M]."""
    best_energy = np.full(len(signals), -1.0)
    best = np.zeros(len(signals))
    for frequency in tried:
        angles = 2 * np.pi * frequency * seconds
        waves = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        energy = ((signals @ np.linalg.qr(waves)[0]) ** 2).sum(axis=1)
        better = energy > best_energy
        best_energy[better] = energy[better]
        best[better] = frequency
    return best
