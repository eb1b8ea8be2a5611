"""The floor is the least error: who knows the generator reaches it, and nobody is better."""

import dataclasses

import numpy as np
import pytest
from tests.support.small_signals import HONEST

from tasks.signal_extraction.data.setting import Setting, draw_windows
from tasks.signal_extraction.scoring.floor import compute_floor


def _error_of_who_is_told_nothing(setting: Setting, seed: int) -> float:
    """That of the posterior mean for amplitudes of 1 and mean phases, over windows with any."""
    signals, components = draw_windows(setting, 1000, np.random.default_rng(seed), np.arange(1000))
    parts = np.sin(
        setting.compute_angles(np.arange(1000 + setting.window)) + setting.phase_scale * np.pi
    )
    means, logs, errors = parts.mean(axis=0), np.zeros((1000, 1000)), []
    for sample in range(setting.window):
        now = slice(sample, sample + 1000)
        logs -= (signals[:, sample, None] - means[now]) ** 2 / (2 * setting.noise**2)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        errors.append(((weights @ parts[:, now].T - components[:, :, sample]) ** 2).mean())
    return float(np.mean(errors))


@pytest.mark.slow
def test_the_honest_bound_is_reached_by_who_is_told_so_much_and_by_nobody_else() -> None:
    """Without spread of amplitude and phase the bound is the least error itself."""
    plain = dataclasses.replace(HONEST, low=1.0, high=1.0, phase_scale=0.0)
    assert _error_of_who_is_told_nothing(plain, 2) == pytest.approx(
        compute_floor(plain).mean(), rel=0.08
    )
