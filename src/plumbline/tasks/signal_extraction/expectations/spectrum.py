"""At which frequency a signal has its peak, also where it is shorter than a period."""

import numpy as np

STEP_HZ = 0.05
PARTS = 8  # into which the width of a peak, the inverse of the signal's length, is divided at first


def peaks(signals: np.ndarray, sample_rate_hz: float, top_hz: float) -> np.ndarray:
    """The frequency in Hz [...] of the sinusoid that fits each signal [..., N] best in the least squares sense.

    The least squares periodogram (Lomb 1976): a Fourier transform would need whole periods. Frequencies are tried up to
    half the sample rate or `top_hz`, then every STEP_HZ around the best.
    """
    flat = signals.reshape(-1, signals.shape[-1])
    seconds = np.arange(flat.shape[1]) / sample_rate_hz
    apart = max(STEP_HZ, sample_rate_hz / flat.shape[1] / PARTS)
    rough = _best(
        flat, seconds, np.arange(STEP_HZ, max(min(top_hz, sample_rate_hz / 2), 2 * STEP_HZ), apart)
    )
    found = rough.copy()
    for frequency in np.unique(rough):
        near = np.arange(
            max(STEP_HZ, frequency - apart), min(frequency + apart, sample_rate_hz / 2), STEP_HZ
        )
        found[rough == frequency] = _best(flat[rough == frequency], seconds, near)
    return found.reshape(signals.shape[:-1])


def _best(signals: np.ndarray, seconds: np.ndarray, tried: np.ndarray) -> np.ndarray:
    """That of the frequencies `tried` which fits each signal [M, N] best [M]."""
    best, found = np.full(len(signals), -1.0), np.zeros(len(signals))
    for frequency in tried:
        waves = np.stack(
            [np.cos(2 * np.pi * frequency * seconds), np.sin(2 * np.pi * frequency * seconds)],
            axis=1,
        )
        energy = ((signals @ np.linalg.qr(waves)[0]) ** 2).sum(axis=1)
        better = energy > best
        best[better], found[better] = energy[better], frequency
    return found
