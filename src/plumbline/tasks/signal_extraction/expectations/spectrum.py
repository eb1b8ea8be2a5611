"""At which frequency a signal has its peak, also where it is shorter than a period."""

import numpy as np

STEP_HZ = 0.05


def peaks(signals: np.ndarray, sample_rate_hz: float, top_hz: float) -> np.ndarray:
    """The frequency in Hz [...] of the sinusoid that fits each signal [..., N] best in the least squares sense.

    The least squares periodogram (Lomb 1976): a Fourier transform would need whole periods. Frequencies are tried every
    STEP_HZ, up to half the sample rate or `top_hz`.
    """
    flat = signals.reshape(-1, signals.shape[-1])
    seconds = np.arange(flat.shape[1]) / sample_rate_hz
    tried = np.arange(STEP_HZ, min(top_hz, sample_rate_hz / 2), STEP_HZ)
    best, found = np.full(len(flat), -1.0), np.zeros(len(flat))
    for frequency in tried:
        waves = np.stack([np.cos(2 * np.pi * frequency * seconds), np.sin(2 * np.pi * frequency * seconds)], axis=1)
        energy = ((flat @ np.linalg.qr(waves)[0]) ** 2).sum(axis=1)
        better = energy > best
        best[better], found[better] = energy[better], frequency
    return found.reshape(signals.shape[:-1])
