"""The floor is the least error: who knows the generator reaches it, and nobody is better."""

import dataclasses

import numpy as np
import pytest
from tests.support.small_signals import HONEST, PUBLISHED

from tasks.signal_extraction.data import Setting
from tasks.signal_extraction.data.generators import draw_windows
from tasks.signal_extraction.scoring.floor import compute_floor, compute_log_density

TABLE = {
    1: (0.277, 0.277),
    10: (0.229, 0.182),
    50: (0.120, 0.046),
    100: (0.073, 0.016),
    250: (0.032, 0.00004),
}


@pytest.fixture(scope="module")
def density() -> tuple[np.ndarray, float]:
    return compute_log_density(dataclasses.replace(PUBLISHED, window=1))


@pytest.mark.slow
def test_densities_are_those_of_simulated_samples(density: tuple[np.ndarray, float]) -> None:
    chances, width = np.exp(density[0]), density[1]
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-6)
    values = (np.arange(chances.shape[1]) - chances.shape[1] // 2) * width
    for position in (0, 37, 250, 611):
        one = dataclasses.replace(PUBLISHED, window=1)
        samples = draw_windows(
            one, 40_000, np.random.default_rng(position), np.full(40_000, position)
        )[0][:, 0]
        assert chances[position] @ values == pytest.approx(samples.mean(), abs=4e-4)
        spread = np.sqrt(chances[position] @ values**2 - (chances[position] @ values) ** 2)
        assert spread == pytest.approx(samples.std(), rel=0.02)


@pytest.mark.slow
def test_one_sample_by_summing_up_everything(density: tuple[np.ndarray, float]) -> None:
    """Without a simulation: every value that a sample can have, at every position."""
    joint = np.exp(density[0]) / len(density[0])
    total = joint.sum(axis=0)
    truth = np.sin(PUBLISHED.compute_angles(np.arange(1000)))
    weights = joint / total
    exact = ((truth**2 @ weights - (truth @ weights) ** 2) * total).sum(axis=1).mean()
    assert compute_floor(dataclasses.replace(PUBLISHED, window=1))[0] == pytest.approx(
        exact, rel=0.01
    )
    assert exact == pytest.approx(0.2855, abs=5e-4)


@pytest.mark.slow
def test_who_computes_the_posterior_mean_errs_by_just_the_floor(
    density: tuple[np.ndarray, float],
) -> None:
    """Other windows than those that the floor was computed on, and their true components."""
    table, width = density
    starts = np.random.default_rng(9).integers(0, 1000, 1500)
    signals, components = draw_windows(PUBLISHED, 1500, np.random.default_rng(10), starts)
    cells = np.rint(signals / width).astype(int) + table.shape[1] // 2
    logs, errors = np.zeros((1500, 1000)), []
    for sample in range(PUBLISHED.window):
        here = (np.arange(1000) + sample) % 1000
        logs += table[here][:, cells[:, sample]].T
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        answers = weights @ np.sin(PUBLISHED.compute_angles(here)).T
        errors.append(((answers - components[:, :, sample]) ** 2).mean())
    assert np.mean(errors) == pytest.approx(compute_floor(PUBLISHED).mean(), rel=0.05)


@pytest.mark.slow
def test_the_table_of_floors() -> None:
    found = compute_floor(dataclasses.replace(PUBLISHED, window=250))
    for length, (mean, last) in TABLE.items():
        assert found[:length].mean() == pytest.approx(mean, rel=0.06), length
        assert found[length - 1] == pytest.approx(last, rel=0.15, abs=2e-5), length


@pytest.mark.slow
def test_without_information_the_floor_is_one_half() -> None:
    blind = dataclasses.replace(PUBLISHED, phase_scale=1.0, window=10)
    np.testing.assert_allclose(compute_floor(blind), 0.5, atol=1e-3)


@pytest.mark.slow
def test_more_samples_never_raise_the_floor() -> None:
    assert (np.diff(compute_floor(PUBLISHED)) < 0.005).all()


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


@pytest.mark.slow
def test_who_is_told_nothing_errs_by_more_than_the_honest_bound() -> None:
    assert (
        compute_floor(HONEST).mean()
        < _error_of_who_is_told_nothing(HONEST, 3)
        < 4 * compute_floor(HONEST).mean()
    )
