"""Sequences on disk: repeatable, checked, and leaked only beyond what chance explains."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.small_sequences import COMPONENTS, build_params
from tests.support.task_examples import seal_changed_examples, write_examples

from plumbline.contract import layout
from plumbline.contract.errors import RejectedError
from plumbline.stages.ingest import ingest
from plumbline.stages.validate import validate
from tasks.sequence_bayes.data import list_rows, shuffle_labels
from tasks.sequence_bayes.data.storage import read_sequences, read_strata, write_sequences
from tasks.sequence_bayes.expectations import find_leaks
from tasks.sequence_bayes.params import SequenceParams
from tasks.sequence_bayes.task import TASK


@pytest.mark.parametrize("kind", COMPONENTS)
def test_every_split_has_every_stratum(tmp_path: Path, kind: str) -> None:
    write_examples(build_params(kind), tmp_path)
    manifest = pd.read_parquet(tmp_path / "manifest.parquet")
    counts = manifest.groupby(["split", "label"]).size().unstack()
    assert (counts.to_numpy() > 5).all()


@pytest.fixture
def accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SequenceParams:
    monkeypatch.chdir(tmp_path)
    params = build_params()
    ingest(params, TASK)
    validate(params, TASK)
    return params


def test_copied_sequences_are_rejected_and_counted(accepted: SequenceParams) -> None:
    test = read_sequences(layout.EXAMPLES, "test").copy()
    test[:20] = read_sequences(layout.EXAMPLES, "train")[:20]
    write_sequences(layout.EXAMPLES, "test", test, read_strata(layout.EXAMPLES, "test"))
    seal_changed_examples(TASK)
    leaks = {leak.split: leak for leak in find_leaks(accepted, layout.EXAMPLES)}
    assert 10 <= leaks["test"].num_leaked <= 20  # but for those that chance repeats too
    assert "also in train" in leaks["test"].examples[0]
    assert leaks["validation"].num_leaked == 0
    with pytest.raises(RejectedError, match="repeats:"):
        validate(accepted, TASK)


def test_sequences_that_chance_repeats_are_no_leak(tmp_path: Path) -> None:
    params = build_params("coins", length=8)
    examples = write_examples(params, tmp_path)
    train, test = (set(list_rows(examples, split)["digest"]) for split in ("train", "test"))
    assert train & test, "so short sequences repeat by chance"
    assert [leak.num_leaked for leak in find_leaks(params, examples)] == [0, 0]


def test_shuffled_symbols_keep_only_their_frequencies(tmp_path: Path) -> None:
    examples = write_examples(build_params(), tmp_path)
    target = tmp_path / "shuffled"
    target.mkdir()
    shuffle_labels(examples, target, 3, 200)
    before, after = read_sequences(examples, "train")[:200], read_sequences(target, "train")
    assert after.shape == before.shape
    np.testing.assert_array_equal(np.sort(after, axis=0), np.sort(before, axis=0))
    spread = (before == 0).mean(axis=1).std(), (after == 0).mean(axis=1).std()
    assert spread[1] < 0.7 * spread[0]
