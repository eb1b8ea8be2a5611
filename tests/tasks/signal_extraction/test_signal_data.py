"""Windows are independent; faults are found; nobody is better than the floor."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.support.small_signals import HONEST, asked, small_params
from tests.support.task_examples import seal_changed_examples, write_examples

from plumbline.contract import layout
from plumbline.contract.errors import RejectedError
from plumbline.stages.ingest import ingest
from plumbline.stages.validate import validate
from tasks.signal_extraction.data import shuffle_labels
from tasks.signal_extraction.data.setting import Setting, draw_windows
from tasks.signal_extraction.data.windows import read_windows, write_windows
from tasks.signal_extraction.params import SignalParams
from tasks.signal_extraction.scoring.floor import compute_floor
from tasks.signal_extraction.task import TASK


def test_honest_realisations_have_constants_of_their_own() -> None:
    quiet = dataclasses.replace(HONEST, noise=1e-12, window=1000)
    mixture, components = draw_windows(quiet, 50, np.random.default_rng(3))
    np.testing.assert_allclose(mixture, components.mean(axis=1), atol=1e-9)
    heights = np.abs(components).max(axis=2)
    assert heights.min() >= 0.79
    assert heights.max() <= 1.2
    assert len({signal.tobytes() for signal in mixture}) == 50
    noisy, parts = draw_windows(HONEST, 500, np.random.default_rng(3))
    assert (noisy - parts.mean(axis=1)).std() == pytest.approx(HONEST.noise, rel=0.03)


@pytest.fixture
def accepted(folder: Path) -> SignalParams:
    params = small_params()
    ingest(params, TASK)
    validate(params, TASK)
    return params


def _damage(split: str, change: str) -> None:
    """Change one split, and the manifest and facts with it, as a bad source would."""
    found, other = read_windows(layout.EXAMPLES, split), read_windows(layout.EXAMPLES, "train")
    signals = found.signals.copy()
    if change == "a copied window":
        signals[0] = other.signals[0]
    else:
        signals[0, 0] = {"a wild sample": 40.0, "a missing sample": np.nan}[change]
    write_windows(layout.EXAMPLES, split, signals, found.components)
    seal_changed_examples(TASK)


@pytest.mark.parametrize(
    ("change", "check"),
    [("a copied window", "windows:"), ("a wild sample", "range:"), ("a missing sample", "finite:")],
)
def test_what_is_wrong_is_rejected(accepted: SignalParams, change: str, check: str) -> None:
    _damage("test", change)
    with pytest.raises(RejectedError, match=check):
        validate(accepted, TASK)


def test_a_window_on_both_sides_is_refused_by_leakage(tmp_path: Path) -> None:
    params = small_params()
    examples = write_examples(params, tmp_path)
    leaks = TASK.expectations.find_leaks(params, examples)
    assert asked("leakage", params, leaks=leaks).status == "pass"
    train = read_windows(examples, "train")
    write_windows(examples, "validation", train.signals[:60], train.components[:60])
    leaks = TASK.expectations.find_leaks(params, examples)
    assert [leak.num_leaked for leak in leaks] == [60, 0]
    assert "also in train" in leaks[0].examples[0]
    assert asked("leakage", params, leaks=leaks).status == "fail"


def test_shuffled_answers_have_nothing_to_do_with_their_samples(tmp_path: Path) -> None:
    examples = write_examples(small_params(), tmp_path)
    (tmp_path / "shuffled").mkdir()
    shuffle_labels(examples, tmp_path / "shuffled", 3, 200)
    before, after = read_windows(examples, "train"), read_windows(tmp_path / "shuffled", "train")
    assert len(after.rows[0]) == 200
    np.testing.assert_array_equal(after.signals, before.signals[:50])
    kept = before.components[:50]
    assert abs(np.corrcoef(after.components.ravel(), kept.ravel())[0, 1]) < 0.05
    np.testing.assert_allclose(np.sort(after.components[:, 1].ravel()), np.sort(kept[:, 1].ravel()))


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
