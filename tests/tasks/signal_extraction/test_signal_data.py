"""Realisations are independent; faults are found."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.small_signals import HONEST, small_params, values, write_examples

from plumbline.contract.errors import DataError, ParamsError, RejectedError
from plumbline.contract.params_file import read_params
from plumbline.contract.task import SPLITS
from plumbline.stages.ingest import ingest
from plumbline.stages.validate import validate
from tasks.signal_extraction.data import (
    generators,
    list_rows,
    read_windows,
    shuffle_labels,
    storage,
)
from tasks.signal_extraction.data import read_realisations as read_split
from tasks.signal_extraction.expectations import find_leaks
from tasks.signal_extraction.expectations.spectrum import find_peaks
from tasks.signal_extraction.params import SignalParams
from tasks.signal_extraction.task import TASK


def test_honest_realisations_have_constants_of_their_own() -> None:
    quiet = dataclasses.replace(HONEST, noise=1e-12, window=1000)
    mixture, components = generators.draw_windows(quiet, 50, np.random.default_rng(3))
    np.testing.assert_allclose(mixture, components.mean(axis=1), atol=1e-9)
    heights = np.abs(components).max(axis=2)
    assert heights.min() >= 0.79
    assert heights.max() <= 1.2
    assert len({signal.tobytes() for signal in mixture}) == 50
    noisy, parts = generators.draw_windows(HONEST, 500, np.random.default_rng(3))
    assert (noisy - parts.mean(axis=1)).std() == pytest.approx(HONEST.noise, rel=0.03)


def test_ingested_twice_it_is_the_same(tmp_path: Path) -> None:
    params = small_params()
    one, two = (write_examples(params, tmp_path / name) for name in ("one", "two"))
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes()
    assert (tmp_path / "one/manifest.parquet").read_bytes() == (
        tmp_path / "two/manifest.parquet"
    ).read_bytes()


@pytest.mark.parametrize("num_samples", [60, 1000])
def test_a_spectral_peak_is_found_also_in_less_than_a_period(num_samples: int) -> None:
    seconds, wanted = np.arange(num_samples) / 1000, np.array([1.0, 3.3, 7.0])
    found = find_peaks(np.sin(2 * np.pi * wanted[:, None] * seconds + 0.7), 1000, 50)
    np.testing.assert_allclose(found, wanted, atol=0.03)


@pytest.fixture
def accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SignalParams:
    monkeypatch.chdir(tmp_path)
    params = small_params()
    ingest(params, TASK)
    validate(params, TASK)
    return params


def _damage(split: str, change: str) -> None:
    """Change one split, and the manifest and facts with it, as a bad source would."""
    from plumbline.contract import layout
    from plumbline.process.files import digest_path, read_json, write_json

    found = read_split(layout.EXAMPLES, split)
    ids, signals, components = list(found.ids), found.signals.copy(), found.components.copy()
    source = read_json(layout.SOURCE)
    other = read_split(layout.EXAMPLES, "train")
    if change == "swapped components":
        components = components[:, ::-1]
    elif change == "a copied realisation":
        ids[0] = other.ids[0]
    elif change == "a copied window":
        signals[0] = other.signals[0]
    elif change == "a wild sample":
        signals[0, 0] = 40.0
    elif change == "a missing sample":
        signals[0, 0] = np.nan
    storage.write_realisations(
        layout.EXAMPLES, split, storage.Realisations(ids, signals, components)
    )
    tables = [list_rows(layout.EXAMPLES, name).assign(split=name) for name in SPLITS]
    manifest = pd.concat(tables, ignore_index=True)
    manifest.to_parquet(layout.MANIFEST, index=False)
    seal = {"digest": digest_path(layout.EXAMPLES), "manifest": digest_path(layout.MANIFEST)}
    write_json(layout.SOURCE, source | seal)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ("swapped components", "peak:"),
        ("a copied realisation", "realisations:"),
        ("a copied window", "windows:"),
        ("a wild sample", "range:"),
        ("a missing sample", "finite:"),
    ],
)
def test_what_is_wrong_is_rejected(accepted: SignalParams, change: str, check: str) -> None:
    _damage("test", change)
    with pytest.raises(RejectedError, match=check):
        validate(accepted, TASK)


def test_a_leak_is_counted_by_realisation_and_by_window(tmp_path: Path) -> None:
    params = small_params()
    examples = write_examples(params, tmp_path)
    assert [leak.num_leaked for leak in find_leaks(params, examples)] == [0, 0, 0, 0]
    train, test = read_split(examples, "train"), read_split(examples, "test")
    ids = [*train.ids[:2], *test.ids[2:]]
    signals = np.concatenate([train.signals[5:6], test.signals[1:]])
    storage.write_realisations(
        examples, "test", storage.Realisations(ids, signals, test.components)
    )
    found = {(leak.split, leak.kind): leak for leak in find_leaks(params, examples)}
    assert found["test", "group"].num_leaked == 2
    assert found["test", "exact"].num_leaked == 1
    assert found["validation", "group"].num_leaked == 0
    assert "also in train" in found["test", "group"].examples[0]


def test_shuffled_answers_have_nothing_to_do_with_their_samples(tmp_path: Path) -> None:
    examples = write_examples(small_params(), tmp_path)
    (tmp_path / "shuffled").mkdir()
    shuffle_labels(examples, tmp_path / "shuffled", 3, 200)
    before, after = read_windows(examples, "train"), read_windows(tmp_path / "shuffled", "train")
    assert len(after.ids) == 200
    np.testing.assert_array_equal(after.signals, before.signals[:50])
    kept = before.components[:50]
    assert abs(np.corrcoef(after.components.ravel(), kept.ravel())[0, 1]) < 0.05
    np.testing.assert_allclose(np.sort(after.components[:, 1].ravel()), np.sort(kept[:, 1].ravel()))


@pytest.mark.parametrize(
    "name", [*(f"{split}.signals.npy" for split in SPLITS), "setting.json", "train.json"]
)
def test_damaged_examples_are_named(tmp_path: Path, name: str) -> None:
    examples = write_examples(small_params(), tmp_path)
    (examples / name).write_bytes(b"\x00")
    with pytest.raises(DataError, match="run `dvc repro ingest`"):
        [read_windows(examples, split) for split in SPLITS]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sample_rate_hz": 48_000}, "may start at 48,000 places"),
        ({"window": 400, "max_offset_s": 6.0}, "6,000 places"),
        ({"window": 2}, "data.window"),
        ({"frequencies_hz": [1.0, 1.0000001]}, "six digits"),
        ({"frequencies_hz": [1.0, 600.0]}, "600.0 Hz is not below half of sample_rate_hz"),
        ({"frequencies_hz": [3.0, 3.0]}, "one is given twice"),
        ({"amplitude": {"low": 2.0, "high": 1.0}}, "expected 0 < low <= high"),
    ],
)
def test_params_that_cannot_be_meant(tmp_path: Path, change: dict, said: str) -> None:
    from ruamel.yaml import YAML

    with (tmp_path / "params.yaml").open("w") as file:
        YAML().dump(values(**change), file)
    with pytest.raises(ParamsError) as caught:
        read_params(tmp_path / "params.yaml", lambda _: SignalParams)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("section", "change", "said"),
    [
        (
            "control",
            {"candidates": ["film"]},
            "film draws fresh windows, and would not see the shuffled ones",
        ),
        ("training", {"precision": "bf16"}, "training.precision: bf16"),
    ],
)
def test_what_would_not_be_done_is_refused(section: str, change: dict, said: str) -> None:
    found = values()
    found[section] |= change
    with pytest.raises(ValueError, match=said):
        SignalParams.model_validate(found)


def test_any_frequency_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    params = small_params(frequencies_hz=[60.0, 121.5])
    ingest(params, TASK)
    validate(params, TASK)


def test_chunks_have_to_fill_a_window() -> None:
    found = values()
    found["candidates"]["stateful"]["chunk"] = 30
    with pytest.raises(
        ValueError, match=r"candidates.stateful.chunk: 30 samples do not divide data.window \(40\)"
    ):
        SignalParams.model_validate(found)
